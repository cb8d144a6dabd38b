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
import { oneConnection } from './one-connection.ts'
import { cost, listening, spawnDaemon } from './programs.ts'

const PORT = 19_833
const READERS = 100
const ROUNDS = 7
const WARM_UP = 16_000
const REQUESTS = 4_000
const CONNECTIONS = 50

const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const daemon = spawnDaemon(PORT, stateDir)

/** Opens a reader of events. Resolves when its stream has begun. */
async function openReader(request: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: PORT })
  socket.write(request)
  await once(socket, 'data')
  return socket.resume()
}

try {
  await listening(daemon)
  const { get, code } = await oneConnection(PORT)
  const open = connections(PORT, CONNECTIONS)
  const run = (count: number) => open.send(() => code, count)
  const measured = () => cost(daemon, () => run(REQUESTS))
  await run(WARM_UP)
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await measured()
    const readers = await Promise.all(
      Array.from({ length: READERS }, () => openReader(get('/api/v1/events'))),
    )
    ratios.push(alone / (await measured()))
    for (const reader of readers) reader.destroy()
  }
  open.close()
  say(`requests alone ÷ beside ${READERS} readers of events: ${median(ratios).toFixed(2)}`)
} finally {
  await daemon.stop()
  rmSync(stateDir, { recursive: true })
}
