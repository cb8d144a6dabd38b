/**
 * A secret on the alternate screen: every signal that ends the program restores the screen, and
 * no file gets the secret.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freshFolder } from '../keychain/fresh-folder.ts'

const CHILD = join(import.meta.dirname, 'own-screen-child.ts')

/** Runs a command at a pseudo-terminal and exits as it does: 256 minus the number of a signal. */
const BRIDGE = `
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
`

const skip =
  process.platform === 'win32' || spawnSync('python3', ['-c', 'import pty']).status !== 0
    ? 'needs python3'
    : false

describe('the alternate screen for a secret', { skip }, () => {
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const)
    it(`is left when ${signal} ends the process`, async () => {
      const bridge = spawn('python3', ['-c', BRIDGE, process.execPath, CHILD], {
        env: { ...process.env, TERM: 'xterm' },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let screen = ''
      let isSent = false
      bridge.stdout.setEncoding('utf8').on('data', (text: string) => {
        screen += text
        const [, pid] = /Process (\d+)\. /.exec(screen) ?? []
        if (pid === undefined || isSent) return
        isSent = true
        process.kill(Number(pid), signal)
      })
      const [code] = (await once(bridge, 'close')) as [number | null]
      const [entered, left] = ['\u001b[?1049h', '\u001b[?1049l'].map((mark) => screen.indexOf(mark))
      assert(entered !== -1 && entered! < screen.indexOf('The words.'), screen)
      assert(left! > screen.indexOf('The words.'), 'the words are still on the screen')
      assert.equal(code, 256 - constants.signals[signal])
    })

  it('is refused if standard error is a file, which stays empty', async (t) => {
    const file = join(freshFolder(t), 'errors')
    const shell = `exec "$0" "$1" 2>"$2"`
    const bridge = spawn(
      'python3',
      ['-c', BRIDGE, 'sh', '-c', shell, process.execPath, CHILD, file],
      { stdio: ['pipe', 'ignore', 'inherit'] },
    )
    const [code] = (await once(bridge, 'close')) as [number | null]
    assert.equal(code, 1)
    const written = readFileSync(file, 'utf8')
    assert.match(written, /Standard error is redirected to a file/)
    assert.doesNotMatch(written, /The words\./)
  })
})
