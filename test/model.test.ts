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

const README = readFileSync(join(FOLDER, 'README.md'), 'utf8')

/** What the model asserts, each by its name. */
const PROMISES = [...MODEL.matchAll(/^ *assert\((\w+)\)/gm)].map(([, name]) => name)

/** What may be planted: all that the model asks for, but its bounds. */
const MISTAKES = [...MODEL.matchAll(/^#(?:ifdef (\w+)|(?:el)?if defined\((\w+)\))$/gm)].map(
  ([, one, other]) => one ?? other,
)

const skip = lacking('spin', 'gcc')

/** The promise that each planted mistake breaks, by the table of the model's README. */
const BROKEN_BY = new Map(
  [...README.matchAll(/^\| `([A-Z_]+)` +\|.*\| `(\w+)` +\|$/gm)].map(([, mistake, promise]) => [
    mistake,
    promise,
  ]),
)

// A guard against a search that never ends: it takes minutes where other work shares the cores.
test('the small bound of the model', { skip, timeout: 900_000 }, async () => {
  const { stdout } = await promisify(execFile)(join(FOLDER, 'check'))
  const lines = stdout.split('\n')
  const broken = lines.map((line) => /WITHHOLDS=\d (\w+): breaks (\w+)$/.exec(line) ?? [])
  const found = new Map(
    broken.flatMap(([, mistake, promise]) => (mistake === undefined ? [] : [[mistake, promise]])),
  )
  assert.deepEqual(new Set(found.keys()), new Set(MISTAKES))
  assert.deepEqual(found, BROKEN_BY)
  assert.equal(found.get('TAKES_A_SHORT_BRANCH_FOR_A_ROLLBACK'), 'a_fork_is_for_good')
  assert.equal(
    found.get('ADDS_WHILE_A_ROTATION_IS_PENDING'),
    'nobody_is_added_while_a_rotation_is_pending',
  )
  assert.equal(
    found.get('TRUSTS_A_DEVICE_THAT_REVOKED_ITSELF'),
    'nothing_verifies_while_a_rotation_is_due',
  )
  assert.deepEqual(new Set(broken.flatMap(([, , name]) => name ?? [])), new Set(PROMISES))
  assert.equal(lines.filter((line) => /: holds in \d+ states /.test(line)).length, 3)
  assert.ok(lines.includes('Every line of the model was reached.'))
})
