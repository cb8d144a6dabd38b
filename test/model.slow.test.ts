/**
 * The model of rosters, epochs and key logs (docs/model): within its small bound every promise
 * holds, and each planted mistake breaks one.
 */
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

const allOf = (pattern: RegExp, text: string) =>
  new Set([...text.matchAll(pattern)].map(([, name]) => name))

/** The promises that the model asserts. */
const PROMISES = allOf(/\bpromise\((\w+_\w+),/g, MODEL)

/** The mistakes that some rule of the model asks for. */
const MISTAKES = allOf(/\bplanted\(([A-Z_]+)\)/g, MODEL)

const WORLDS = ['ADMISSION', 'REVOCATION', 'RESET', 'CONSENT', 'OWNERS', 'REPLACEMENT']

/** The promise that each planted mistake breaks, by the table of the README. */
const BROKEN_BY = new Map(
  [...README.matchAll(/^\| `([A-Z_]+)` +\|.*\| `(\w+)` +\|$/gm)].map(([, mistake, promise]) => [
    mistake,
    promise,
  ]),
)

const skip = lacking('spin', 'gcc')

// A limit for a search that never ends: the search takes a minute while other work shares the
// cores.
test('the model holds for its small bound', { skip, timeout: 900_000 }, async () => {
  const { stdout } = await promisify(execFile)(join(FOLDER, 'check'))
  const lines = stdout.split('\n')
  const broken = lines.flatMap((line) => {
    const [, mistake, promise] = /WITHHOLDS=\d (\w+): breaks (\w+) in \d+ states/.exec(line) ?? []
    return mistake === undefined ? [] : [[mistake, promise] as const]
  })
  const found = new Map(broken)
  assert.equal(found.size, broken.length, 'each mistake is searched once')
  assert.deepEqual(new Set(found.keys()), MISTAKES)
  assert.deepEqual(found, BROKEN_BY)
  assert.deepEqual(new Set(found.values()), PROMISES)
  const worlds = lines.flatMap(
    (line) => /^(\w+) ENTRIES=.*: holds in \d+ states /.exec(line)?.[1] ?? [],
  )
  assert.deepEqual(worlds.toSorted(), WORLDS.toSorted())
  assert.ok(lines.includes('Every line of the model was reached.'))
})
