/** The model of rosters and epochs: within its small bound it keeps its promises, and each planted mistake breaks one (docs/model). */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { lacking } from './installed.ts'

const FOLDER = join(import.meta.dirname, '../docs/model')
const MODEL = readFileSync(join(FOLDER, 'roster.pml'), 'utf8')

/** What the model asserts, each by its name. */
const PROMISES = [...MODEL.matchAll(/^ *assert\((\w+)\)/gm)].map(([, name]) => name)

/** What may be planted: all that the model asks for, but its bounds. */
const MISTAKES = [...MODEL.matchAll(/^#(?:ifdef (\w+)|(?:el)?if defined\((\w+)\))$/gm)].map(
  ([, one, other]) => one ?? other,
)

const skip = lacking('spin', 'gcc')

// A minute on two cores that have other work as well.
test('the small bound of the model', { skip, timeout: 300_000 }, async () => {
  const { stdout } = await promisify(execFile)(join(FOLDER, 'check'))
  const lines = stdout.split('\n')
  const broken = lines.map((line) => /WITHHOLDS=\d (\w+): breaks (\w+)$/.exec(line) ?? [])
  assert.deepEqual(new Set(broken.flatMap(([, mistake]) => mistake ?? [])), new Set(MISTAKES))
  assert.deepEqual(new Set(broken.flatMap(([, , name]) => name ?? [])), new Set(PROMISES))
  assert.equal(lines.filter((line) => /: holds in \d+ states /.test(line)).length, 3)
  assert.ok(lines.includes('Every line of the model was reached.'))
})
