/**
 * Measures the processor time of requests to the daemon while programs read its events, as a ratio
 * to the same requests without readers, in alternation.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, say } from './figures.ts'
import { connections } from './load.ts'
import { cpuMs, listening, spawnDaemon } from './programs.ts'

const PORT = 19_833
const READERS = 100
const ROUNDS = 7
const WARM_UP = 16_000
const REQUESTS = 4_000
const CONNECTIONS = 50

const origin = `http://127.0.0.1:${PORT}`
const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const daemon = spawnDaemon(PORT, stateDir)

async function post(path: string, body: object, token?: string): Promise<Record<string, string>> {
  const headers = {
    'Content-Type': 'application/json',
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  }
  const answer = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await answer.json()) as Record<string, string>
}

/** Opens a reader of events. Resolves when its stream has begun. */
async function openReader(request: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: PORT })
  socket.write(request)
  await once(socket, 'data')
  return socket.resume()
}

try {
  await listening(daemon)
  const { token = '' } = await post('/api/v1/token', { name: 'bench', scope: 'write' })
  const { id } = await post('/api/v1/connections', { name: 'Bank' }, token)
  const textOf = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${PORT}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const request = textOf(`/api/v1/connections/${id}/code`)
  const open = connections(PORT, CONNECTIONS)
  const run = (count: number) => open.send(() => request, count)
  const pid = daemon.process.pid!
  async function cost(): Promise<number> {
    const before = cpuMs(pid)
    await run(REQUESTS)
    return cpuMs(pid) - before
  }
  await run(WARM_UP)
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await cost()
    const readers = await Promise.all(
      Array.from({ length: READERS }, () => openReader(textOf('/api/v1/events'))),
    )
    ratios.push(alone / (await cost()))
    for (const reader of readers) reader.destroy()
  }
  open.close()
  say(`requests alone ÷ beside ${READERS} readers of events: ${median(ratios).toFixed(2)}`)
} finally {
  await daemon.stop()
  rmSync(stateDir, { recursive: true })
}
