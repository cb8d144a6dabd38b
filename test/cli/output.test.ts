/** Text on its way to a terminal, with hostile names, files and answers. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { coloured, harmlessIo, jsonText } from '../../src/cli/output.ts'
import { table } from '../../src/cli/table.ts'
import { EXIT } from '../../src/errors.ts'
import { ROOT, exec } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { streams, terminal } from './terminal.ts'

const HOSTILE = 'a\u001b[2J\u001b]0;x\u0007b\u009bK\u202ec\u0000'
const COLOURS = { stream: { isTTY: true }, env: {} }

describe('text for a terminal', () => {
  const cases: [name: string, given: string, written: string][] = [
    ['plain', 'Ann\t1\nBob\n', 'Ann\t1\nBob\n'],
    ['letters of all scripts, and symbols', 'Zoë 好 עברית 🎉\n', 'Zoë 好 עברית 🎉\n'],
    ['terminal controls', HOSTILE, 'a�[2J�]0;x�b�K�c�'],
    ['overwritten lines', 'good\rbad\r\n', 'good�bad\n'],
    ['the progress bar', '\r[##--]', '\r[##--]'],
    ['colours of the program', coloured('green', 'ok', COLOURS), '\u001b[32mok\u001b[39m'],
    ['colours in text of others', '\u001b[32mok\u001b[39m', '�[32mok�[39m'],
    [
      'colours in text of others inside a colour',
      coloured('red', '\u001b[32mok', COLOURS),
      '\u001b[31m�[32mok\u001b[39m',
    ],
    [
      'isolates and line separators',
      'a\u2066b\u2067c\u2068d\u2069e\u2028f\u2029g',
      'a�b�c�d�e�f�g',
    ],
    ['embeddings and overrides', 'a\u202ab\u202bc\u202cd\u202de\u202ef', 'a�b�c�d�e�f'],
    ['other attributes', '\u001b[8mhidden\u001b[0m', '�[8mhidden�[0m'],
  ]
  for (const [name, given, written] of cases)
    it(name, () => {
      const { io, result } = streams()
      const { stdout, stderr } = harmlessIo({ ...io, env: {} })
      stdout.write(given)
      stderr.write(given)
      assert.deepEqual(result, { out: written, err: written })
    })

  it('in a table: each cell is one line without controls', async () => {
    const cell = 'a\u2066b\u2069c\u2028d\u2029e\u202ef\ng\u001b'
    assert.deepEqual(await table(['name', 'id'], [[cell, '1']]), [
      'name            id',
      'a�b�c�d�e�f�g�  1',
    ])
  })

  it('as JSON: the same value, without terminal controls', () => {
    const text = jsonText({ [HOSTILE]: HOSTILE })
    assert.deepEqual(JSON.parse(text), { [HOSTILE]: HOSTILE })
    assert.doesNotMatch(text, /[^\n\P{Cc}]|\u202e/u)
  })

  it('in an error of a command, in every way of printing it', async (t) => {
    const cli = terminal(freshFolder(t))
    const name = HOSTILE.replace('\u0000', '')
    for (const args of [[name], ['stamp', 'verify', name, name]]) {
      const { code, out, err } = await cli(args)
      assert.notEqual(code, EXIT.ok)
      assert.doesNotMatch(out + err, /[^\n\P{Cc}]|\u202e/u)
      assert.match(err, /�/)
    }
  })
})

describe('the columns of a table', () => {
  const cells: [what: string, cell: string, columns: number][] = [
    ['Latin letters', 'Ann Lee', 7],
    ['letters with composed and combining accents', 'Zoë Zoe\u0308', 7],
    ['Chinese', '陳大文', 6],
    ['Japanese of both widths', 'ﾀﾅｶ田中', 7],
    ['Korean, composed and not', '한 \u1112\u1161\u11ab', 5],
    ['Hebrew with points', 'שָׁלוֹם', 4],
    ['Thai', 'สวัสดี', 4],
    ['a picture', 'tea 🍵', 6],
    ['a family, joined', '👩‍👩‍👧', 2],
    ['a flag', '🇨🇭', 2],
    ['a hand in a colour', '👍🏽', 2],
    ['a heart as a picture', '❤️', 2],
    ['half of a character', 'a\ud83d', 2],
    ['a cut text', 'abc…', 4],
  ]
  for (const [what, cell, columns] of cells)
    it(`start below their headings after ${what}`, async () => {
      const width = 'a longer name'.length
      assert.deepEqual(
        await table(
          ['NAME', 'ID'],
          [
            ['a longer name', '1'],
            [cell, '2'],
          ],
        ),
        [
          `NAME${' '.repeat(width - 4)}  ID`,
          'a longer name  1',
          `${cell}${' '.repeat(width - columns)}  2`,
        ],
      )
      assert.deepEqual(await table(['N', 'ID'], [[cell, '1']]), [
        `N${' '.repeat(columns - 1)}  ID`,
        `${cell}  1`,
      ])
    })

  it('need the library for other characters than ASCII alone', async () => {
    const script = `
      import { registerHooks } from 'node:module'
      const loaded = []
      registerHooks({
        resolve(name, context, next) {
          loaded.push(name)
          return next(name, context)
        },
      })
      const { table } = await import(${JSON.stringify(join(ROOT, 'src/cli/table.ts'))})
      for (const name of ['Ann', 'Zoë']) {
        await table(['NAME'], [[name]])
        console.log(name, loaded.includes('string-width'))
      }`
    const { stdout, stderr } = await exec(process.execPath, ['--input-type=module', '-e', script])
    assert.equal(stdout, 'Ann false\nZoë true\n', stderr)
  })
})
