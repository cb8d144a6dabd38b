/** A passphrase typed at a real terminal: nothing of it is shown there. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** Runs a command at a new terminal, types a line at each question, and prints what the terminal showed and the exit code. */
const TERMINAL = `
import os, pty, sys
answers = sys.argv[1].encode().split(b'|')
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
asked = 0
while True:
    try:
        some = os.read(terminal, 4096)
    except OSError:
        break
    if not some:
        break
    shown += some
    while shown.count(b': ') > asked and asked < len(answers):
        os.write(terminal, answers[asked])
        asked += 1
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
sys.stdout.flush()
sys.stdout.buffer.write(shown)
`

const noTerminal =
  process.platform === 'win32' || spawnSync('python3', ['-c', 'import pty']).status !== 0
    ? 'needs python3'
    : false

const cases: [string, string, number, RegExp][] = [
  ['twice', 'five words nobody knows\r|five words nobody knows\r', EXIT.ok, /again:.*Wrote \d+/s],
  [
    'with a slip that is taken back',
    'five words nobody knowx\x7fs\r|five words nobody knows\r',
    0,
    /Wrote/,
  ],
  ['and given up with Ctrl-C', 'five words\x03', EXIT.failed, /No passphrase was given/],
]
for (const [what, typed, exit, says] of cases)
  it(`a passphrase typed ${what}`, { skip: noTerminal }, (t) => {
    const file = join(freshFolder(t), 'backup')
    const main = join(import.meta.dirname, '../../src/main.ts')
    const { stdout, stderr } = spawnSync(
      'python3',
      ['-c', TERMINAL, typed, process.execPath, main, 'backup', file],
      { env: environment(freshFolder(t)), encoding: 'utf8', timeout: 30_000 },
    )
    const [code, ...shown] = stdout.split('\n')
    assert.equal(Number(code), exit, stdout + stderr)
    assert.match(shown.join('\n'), says)
    assert.doesNotMatch(stdout, /five|nobody|know/)
    assert.equal(existsSync(file), exit === EXIT.ok)
  })
