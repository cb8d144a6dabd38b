/** The two compared programs, as processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const TICK_MS = 10

export interface Program {
  readonly process: ChildProcess
  readonly port: number
  stop(): Promise<void>
}

const stop = (child: ChildProcess) => async () => {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export const program = (child: ChildProcess, port: number): Program => ({
  process: child,
  port,
  stop: stop(child),
})

/** Starts the peer; it sends `answer` for every request. */
export function spawnBare(port: number, answer?: { headers: string[]; body: string }): Program {
  const mode = answer === undefined ? [] : ['answer']
  const child = spawn(process.execPath, [join(root, 'bench/bare.cjs'), String(port), ...mode], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(answer === undefined ? '' : JSON.stringify(answer))
  return program(child, port)
}

/** Starts the daemon from its bundle on a state folder. */
export function spawnDaemon(port: number, stateDir: string): Program {
  const child = spawn(process.execPath, [join(root, 'dist/countersignd.cjs'), 'serve', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      SVC_STATE_DIR: stateDir,
      SVC_KEYCHAIN: 'file',
      SVC_HTTP_PORT: String(port),
      SVC_ACCOUNT_PORT: '0',
    },
  })
  return program(child, port)
}

/**
 * Resolves when the program prints its first line on standard output, which means that it
 * listens.
 */
export async function listening({ process: child }: Program): Promise<void> {
  if (child.stdout === null) throw new Error('the program has no standard output')
  await once(child.stdout, 'data')
}

/** Returns the CPU time that a process has used, in milliseconds, to 10 ms. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** Returns the resident memory of a process, in MiB. */
export function rssMib(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}
