/** A passphrase typed at a real terminal: the terminal shows none of it. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { atRealTerminal, noRealTerminal } from './real-terminal.ts'

const SECRET = 'five secret words to know\r'

const cases: [string, string[], number, RegExp][] = [
  ['twice', [SECRET, SECRET], EXIT.ok, /again:.*Wrote \d+/s],
  [
    'with a typing error that is deleted',
    ['five secret words to knowx\x7f\r', SECRET],
    EXIT.ok,
    /Wrote/,
  ],
  ['and aborted with Ctrl-C', ['five words\x03'], EXIT.failed, /No passphrase was given/],
]
for (const [what, typed, exit, says] of cases)
  it(`a passphrase typed ${what}`, { skip: noRealTerminal }, async (t) => {
    const file = join(freshFolder(t), 'backup')
    const { code, screen } = await atRealTerminal(
      ['backup', file],
      environment(freshFolder(t)),
      typed.map((keys) => [': ', keys]),
    )
    assert.equal(code, exit, screen)
    assert.match(screen, says)
    assert.doesNotMatch(screen, /five|secret|know/)
    assert.equal(existsSync(file), exit === EXIT.ok)
  })
