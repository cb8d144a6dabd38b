/**
 * Starts a daemon in a process of its own for a suite: with the interface of a test daemon, and
 * measurements of the process.
 */
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { commandLineToken } from '../../src/auth/proof.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'
import { type TestDaemon, ask } from '../daemon.ts'
import { PROGRAM, environment, folder } from '../e2e/program.ts'

export interface DaemonProcess extends TestDaemon {
  readonly pid: number
  /** Whether the process has ended, which it must not do before `close`. */
  ended(): boolean
  /** The lines of its log that report a failure. */
  errors(): string[]
}

/** Returns the resident memory of a process, in MiB. */
export function rssMib(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

/** Returns the largest resident memory that a process has had, in MiB. */
export function peakMib(pid: number): number {
  const kib = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

/**
 * Returns the least resident memory of an idle daemon, in MiB.
 * @param enough measuring ends at this value or below
 * @param looks the number of measurements, two each second
 */
export async function settledMib(
  { pid }: Pick<DaemonProcess, 'pid'>,
  enough: number,
  looks: number,
): Promise<number> {
  let least = Infinity
  for (let attempt = 0; attempt < looks && least > enough; attempt++) {
    await setTimeout(500)
    least = Math.min(least, rssMib(pid))
  }
  return least
}

/**
 * Starts `countersignd serve` from its sources over a new state folder, and waits until it
 * listens.
 */
export async function startProcess(
  env: Readonly<Record<string, string>> = {},
): Promise<DaemonProcess> {
  const made = folder()
  const stateDir = made.path
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--json'], {
    env: environment(stateDir, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // The child ends with a suite that is stopped.
  const orphan = () => child.kill('SIGKILL')
  process.once('exit', orphan)
  const log: string[] = []
  const lineEvents = new EventEmitter()
  let rest = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() as string
    log.push(...lines)
    lineEvents.emit('line')
  })
  const closed = once(child, 'close')
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    closed.then(() => Promise.reject(new Error(`it ended: ${log.join('\n')}`))),
  ])) as [string]
  const { address, account_address: accountAddress } = JSON.parse(line) as {
    address: string
    account_address: string
  }
  const request: TestDaemon['request'] = (method, path, question) =>
    ask(address, method, path, question)
  return {
    address,
    accountAddress,
    stateDir,
    log,
    pid: child.pid as number,
    ended: () => child.exitCode !== null || child.signalCode !== null,
    errors: () => log.filter((one) => !/^\{"time":"[^"]*","level":"(?:info|debug|warn)"/.test(one)),
    async logged(event) {
      const isHere = () => log.some((one) => one.includes(`"event":"${event}"`))
      while (!isHere()) await once(lineEvents, 'line', { signal: AbortSignal.timeout(10_000) })
    },
    request,
    async token(scope) {
      const { json } = await request('POST', '/api/v1/token', { body: { name: 'test', scope } })
      return (json as { token: string }).token
    },
    owner: () => commandLineToken(stateSecret(stateDir), (readRuntime(stateDir) as Runtime).nonce),
    async close() {
      child.kill('SIGTERM')
      await closed
      process.off('exit', orphan)
      made.remove()
    },
  }
}
