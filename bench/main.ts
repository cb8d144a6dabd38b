/**
 * Measures the daemon against bare node:http, as ratios within one alternating run. Wall-clock
 * figures of one machine mean little on another, and are useless while other programs run on it.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, say } from './figures.ts'
import { load } from './load.ts'
import { type Program, cpuMs, listening, spawnBare, spawnDaemon } from './programs.ts'
import { compareStarts, startMs } from './starts.ts'

const DAEMON = 19_831
const BARE = 19_832
const ROUNDS = 5
/** Warm-up requests, as a multiple of the measured number. */
const WARM_UP = 3
const REQUESTS = 40_000
const STARTS = 15

async function json(path: string, init: RequestInit & { headers?: Record<string, string> } = {}) {
  const answer = await fetch(`http://127.0.0.1:${DAEMON}${path}`, init)
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Record<string, string>
}

const post = (body: object, token?: string) => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: {
    'Content-Type': 'application/json',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  },
})

/** Returns headers and body of a response, for the peer to send. */
async function captured(path: string, token: string) {
  const answer = await fetch(`http://127.0.0.1:${DAEMON}${path}`, {
    headers: { Authorization: `Bearer ${token}` },
  })
  const own = new Set(['date', 'connection', 'keep-alive'])
  const headers = [...answer.headers].filter(([name]) => !own.has(name)).flat()
  return { headers, body: await answer.text() }
}

/** Returns the CPU milliseconds that a server uses for the requests. */
async function cost(
  { process: { pid = 0 }, port }: Program,
  request: string,
  count: number,
): Promise<number> {
  const before = cpuMs(pid)
  await load(port, request, count)
  return cpuMs(pid) - before
}

async function requests(stateDir: string): Promise<void> {
  const daemon = spawnDaemon(DAEMON, stateDir)
  await listening(daemon)
  const { token = '' } = await json('/api/v1/token', post({ name: 'bench', scope: 'full' }))
  const { id } = await json('/api/v1/connections', post({ name: 'bench' }, token))
  const measured: [path: string, count: number][] = [
    [`/api/v1/connections/${id}/code`, REQUESTS],
    // Answered by the database, ten times as expensive.
    [`/api/v1/connections/${id}`, REQUESTS / 10],
  ]
  for (const [path, count] of measured) {
    const bare = spawnBare(BARE, await captured(path, token))
    await listening(bare)
    const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${DAEMON}\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n`
    // Both are compared as they run for hours: after a warm-up of the compiler.
    await load(DAEMON, request, count * WARM_UP)
    await load(BARE, request, count * WARM_UP)
    const ratios: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const theirs = await cost(bare, request, count)
      const ours = await cost(daemon, request, count)
      ratios.push(theirs / ours)
    }
    await bare.stop()
    const shown = ratios.map((ratio) => ratio.toFixed(2)).join(' ')
    say(
      `CPU of bare node:http ÷ ours, GET ${path.replace(id ?? '', '{id}')}: ${median(ratios).toFixed(2)}  (${shown})`,
    )
  }
  await daemon.stop()
}

const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  // As in daily use: enrolled, and with the code cache that an earlier run left.
  const ours = () => spawnDaemon(DAEMON, stateDir)
  await startMs(ours)
  await requests(stateDir)
  await compareStarts({ ours, peer: () => spawnBare(BARE) }, 'bare hello', STARTS)
} finally {
  rmSync(stateDir, { recursive: true })
}

// In separate processes: the earlier measurements would affect memory and time.
for (const [file, ...options] of [['codes.ts', '--expose-gc'], ['sealing.ts'], ['first-sync.ts']]) {
  const { status } = spawnSync(
    process.execPath,
    ['--no-warnings', ...options, join(import.meta.dirname, file!)],
    {
      stdio: 'inherit',
    },
  )
  if (status !== 0) process.exitCode = status ?? 1
}
