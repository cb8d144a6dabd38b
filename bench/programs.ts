/** The two compared programs, as processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const NS_PER_MS = 1_000_000

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

/**
 * Starts bare node:http, which sends `answer` for every request, or "hello" without one, or an
 * event stream that does not end.
 * @param database the path of a database to which each body is written before the answer
 */
export function spawnBare(
  port: number,
  answer?: { headers: string[]; body: string } | 'streams',
  database?: string,
): Program {
  const mode =
    answer === undefined
      ? []
      : answer === 'streams'
        ? [answer]
        : ['answer', ...(database === undefined ? [] : [database])]
  const child = spawn(process.execPath, [join(root, 'bench/bare.cjs'), String(port), ...mode], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(typeof answer === 'object' ? JSON.stringify(answer) : '')
  return program(child, port)
}

/** Starts the peer with an account's routes (`peer.ts`) on a database. */
export function spawnPeer(
  port: number,
  { database, token, account }: { database: string; token: string; account: string },
): Program {
  const args = [join(root, 'bench/peer.ts'), String(port), database, token, account]
  const child = spawn(process.execPath, ['--no-warnings', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return program(child, port)
}

/** Starts the daemon on a state folder. */
function spawnedDaemon(port: number, stateDir: string, words: readonly string[]): Program {
  const child = spawn(process.execPath, [...words, 'serve', '--json'], {
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

/** Starts the daemon from its bundle on a state folder. */
export const spawnDaemon = (port: number, stateDir: string): Program =>
  spawnedDaemon(port, stateDir, [join(root, 'dist/countersignd.cjs')])

/**
 * Starts the daemon from its sources on a state folder.
 * @param options of Node
 */
export const spawnDaemonFromSources = (
  port: number,
  stateDir: string,
  options: readonly string[],
): Program => spawnedDaemon(port, stateDir, [...options, join(root, 'src/main.ts')])

/** Starts an account server from the sources on a database in PostgreSQL. */
export function spawnAccountServer(port: number, stateDir: string, databaseUrl: string): Program {
  const child = spawn(process.execPath, [join(root, 'src/main.ts'), 'server', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      HOME: stateDir,
      SVC_STATE_DIR: stateDir,
      SVC_ACCOUNT_PORT: String(port),
      SVC_PUBLIC_URL: `http://127.0.0.1:${port}`,
      SVC_DATABASE_URL: databaseUrl,
      SVC_MAIL_DIR: join(stateDir, 'mail'),
      SVC_LOG_LEVEL: 'warn',
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

/** Returns the CPU time that the threads of a process have used, in milliseconds. */
export function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const times = threads.map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'),
  )
  // The first number of each line is the thread's time on a processor, in nanoseconds.
  return times.reduce((sum, line) => sum + Number(line.split(' ')[0]), 0) / NS_PER_MS
}

/** Returns the processor time that a program uses during some work, in milliseconds. */
export async function cost(program: Program, work: () => Promise<unknown>): Promise<number> {
  const { pid = 0 } = program.process
  const before = cpuMs(pid)
  await work()
  return cpuMs(pid) - before
}

/** Returns the resident memory of a process, in MiB. */
export function rssMib(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}
