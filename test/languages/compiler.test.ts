/**
 * Faults in a catalogue that the compiler reports: the German catalogue is compiled with one fault
 * each.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const LANGUAGES = join(ROOT, 'src/languages')
const GERMAN = readFileSync(join(LANGUAGES, 'de.ts'), 'utf8')
const run = promisify(execFile)

const dir = mkdtempSync(join(tmpdir(), 'countersign-languages-'))
after(() => rmSync(dir, { recursive: true }))
writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
writeFileSync(
  join(dir, 'tsconfig.json'),
  JSON.stringify({
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
    include: ['de.ts'],
    exclude: [],
  }),
)

/** Returns the messages of the compiler for a catalogue; empty if it compiles. */
async function faults(catalogue: string): Promise<string> {
  const text = catalogue.replace('./translation.ts', join(LANGUAGES, 'translation.ts'))
  assert.notEqual(text, catalogue)
  writeFileSync(join(dir, 'de.ts'), text)
  try {
    await run(join(ROOT, 'node_modules/.bin/tsc'), ['--noEmit', '-p', dir])
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

test('the catalogue compiles', async () => {
  assert.equal(await faults(GERMAN), '')
})

const CASES: readonly [what: string, from: string, to: string, message: RegExp][] = [
  ['a missing key', "    check: 'Prüfen',\n", '', /Property 'check' is missing/],
  [
    'an unknown key',
    "    check: 'Prüfen',\n",
    "    check: 'Prüfen',\n    chekc: 'Prüfen',\n",
    /chekc|not assignable to type 'never'/,
  ],
  ['an unknown group', '  home: {\n', '  hoem: {\n', /not assignable to type 'never'/],
  [
    'a missing placeholder',
    "'Anrufe mit {owner}'",
    "'Anrufe'",
    /readonly kind: "text"; readonly placeholders: "owner"/,
  ],
  [
    'another placeholder',
    "'Anrufe mit {owner}'",
    "'Anrufe mit {guest}'",
    /readonly kind: "text"; readonly placeholders: "owner"/,
  ],
  [
    'a placeholder too many',
    "'Von vorn beginnen'",
    "'Von vorn beginnen mit {owner}'",
    /readonly placeholders: never/,
  ],
  [
    'a text in place of plural forms',
    "days: { one: '{count} Tag', other: '{count} Tage' }",
    "days: '{count} Tage'",
    /readonly kind: "plural forms"/,
  ],
  [
    'plural forms without the form for all others',
    "days: { one: '{count} Tag', other: '{count} Tage' }",
    "days: { one: '{count} Tag' }",
    /Property 'other' is missing/,
  ],
]
for (const [what, from, to, message] of CASES)
  test(`${what} does not compile`, async () => {
    assert(GERMAN.includes(from), from)
    assert.match(await faults(GERMAN.replace(from, to)), message)
  })
