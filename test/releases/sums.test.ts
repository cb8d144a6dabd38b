/** SHA256SUMS is read only in its strict form, in which other programs read the same sums. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DownloadRefusal } from '../../src/releases/refusal.ts'
import { parseSums } from '../../src/releases/sums.ts'

const SUM = 'a'.repeat(64)
const GOOD = `${SUM}  countersignd-linux-x64\n`

describe('SHA256SUMS', () => {
  it('is read as sums by name', () => {
    const text = `${GOOD}${'b'.repeat(64)}  countersignd_0.1.0-1~rc1+b2_amd64.deb\n`
    assert.deepEqual(
      [...parseSums(Buffer.from(text))],
      [
        ['countersignd-linux-x64', SUM],
        ['countersignd_0.1.0-1~rc1+b2_amd64.deb', 'b'.repeat(64)],
      ],
    )
  })

  const bad: Readonly<Record<string, string>> = {
    empty: '',
    'without the end of its last line': GOOD.trimEnd(),
    'cut in a line': GOOD.slice(0, 40),
    'with CR LF': GOOD.replace('\n', '\r\n'),
    'with a lone CR, which a terminal shows as another line': GOOD.replace(SUM, `x\r${SUM}`),
    'with an empty line': `${GOOD}\n${GOOD}`,
    'with a comment': `# sums\n${GOOD}`,
    'with the escape of sha256sum': `\\${GOOD}`,
    'with a path': `${SUM}  bin/countersignd-linux-x64\n`,
    'with a path upwards': `${SUM}  ../countersignd-linux-x64\n`,
    'with an absolute path': `${SUM}  /usr/bin/countersignd\n`,
    'with the path of Windows': `${SUM}  ..\\countersignd.exe\n`,
    'with a hidden name': `${SUM}  .countersignd\n`,
    'with a name that is an option': `${SUM}  --help\n`,
    'with a name that a shell reads': `${SUM}  $(id)\n`,
    'with a name of another alphabet': `${SUM}  countersignd-linux-х64\n`,
    'with NUL in a name': `${SUM}  countersignd\0-linux-x64\n`,
    'with a short sum': GOOD.slice(1),
    'with a sum in capitals': GOOD.replace(SUM, SUM.toUpperCase()),
    'with one space': GOOD.replace('  ', ' '),
    'in the form of BSD': `SHA256 (countersignd-linux-x64) = ${SUM}\n`,
    'with a name twice': `${GOOD}${'b'.repeat(64)}  countersignd-linux-x64\n`,
  }
  for (const [what, text] of Object.entries(bad))
    it(`${what}: bad_sums`, () => {
      assert.throws(
        () => parseSums(Buffer.from(text)),
        (error) => error instanceof DownloadRefusal && error.reason === 'bad_sums',
      )
    })
})
