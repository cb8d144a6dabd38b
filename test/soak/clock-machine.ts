/** Starts a daemon on a machine with a clock that the test sets (see clock-shift.ts). */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { commandLineToken } from '../../src/auth/proof.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'
import { type Answer, type Question, ask } from '../daemon.ts'
import { startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'

const SHIFT = pathToFileURL(join(import.meta.dirname, 'clock-shift.ts')).href

/** Starts a daemon that ends with the test. */
export async function onMachine(t: TestContext, env: NodeJS.ProcessEnv = {}) {
  const stateDir = freshFolder(t)
  const file = join(freshFolder(t), 'clock')
  const start = () =>
    startDaemon(stateDir, { NODE_OPTIONS: `--import=${SHIFT}`, CLOCK_FILE: file, ...env })
  let daemon = await start()
  t.after(() => daemon.end('SIGKILL'))
  const owner = () =>
    commandLineToken(stateSecret(stateDir), (readRuntime(stateDir) as Runtime).nonce)
  let offset = 0
  let times = 0
  const settings = () =>
    daemon
      .log()
      .split('\n')
      .filter((line) => line.includes('"clock set"'))
      .map((line) => JSON.parse(line) as { timers: number })
  const call = (method: string, path: string, question?: Question): Promise<Answer> =>
    ask(daemon.address, method, path, { token: owner(), ...question })
  const good = async <T>(method: string, path: string, question?: Question): Promise<T> => {
    const { status, json, text } = await call(method, path, question)
    assert(status < 300, `${method} ${path}: ${status} ${text}`)
    return json as T
  }
  return {
    daemon: () => daemon,
    stateDir,
    call,
    good,
    /** Returns the time of the daemon’s clock. */
    now: () => Date.now() + offset,
    /** Sets the clock; returns the number of timers that were set since the last time. */
    set: async (ms: number): Promise<number> => {
      writeFileSync(file, String(ms))
      process.kill((readRuntime(stateDir) as Runtime).pid, 'SIGUSR2')
      times++
      await until('the setting of the clock', () => settings().length >= times)
      offset = ms
      return settings().at(-1)?.timers ?? 0
    },
    /** Stops the daemon, sets the clock, and starts the daemon again. */
    restartAt: async (ms: number): Promise<void> => {
      await daemon.end('SIGTERM')
      writeFileSync(file, String(ms))
      offset = ms
      times = 0
      daemon = await start()
    },
  }
}
export type Machine = Awaited<ReturnType<typeof onMachine>>
