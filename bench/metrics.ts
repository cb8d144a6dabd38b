/**
 * Measures what metrics cost a request: the processor time of a daemon that is never scraped, and
 * of one that is, as multiples of a daemon that counts nothing. All run from the sources, and take
 * turns. Two processes of one program differ by some percent, so each is started several times.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quantile, report } from './figures.ts'
import { connections } from './load.ts'
import { oneConnection } from './one-connection.ts'
import { cost, listening, spawnDaemonFromSources } from './programs.ts'

const FIRST_PORT = 19_831
const STARTS = 5
const ROUNDS = 12
const WARM_UP_ROUNDS = 3
/** In each round. */
const REQUESTS = 16_000

const KINDS = ['uncounted', 'counted', 'scraped'] as const
const UNCOUNTED = ['--import', join(import.meta.dirname, 'uncounted.mjs')]

/** Starts a daemon with one connection. */
async function started(kind: (typeof KINDS)[number], port: number, stateDir: string) {
  const daemon = spawnDaemonFromSources(port, stateDir, kind === 'uncounted' ? UNCOUNTED : [])
  await listening(daemon)
  const { get, code } = await oneConnection(port)
  const to = connections(port)
  const send = (count: number) => to.send(() => code, count)
  // A connection without a first request would be closed.
  await send(100)
  return {
    /** Returns the processor time of the requests of a round, in milliseconds. */
    round: async () => {
      if (kind === 'scraped') await to.send(() => get('/metrics'), 8)
      return await cost(daemon, () => send(REQUESTS))
    },
    stop: async () => {
      to.close()
      await daemon.stop()
    },
  }
}

/** Returns a low processor time of each kind of daemon, which other programs disturb the least. */
async function compared(folder: string): Promise<readonly number[]> {
  const daemons: Awaited<ReturnType<typeof started>>[] = []
  for (const [index, kind] of KINDS.entries())
    daemons.push(await started(kind, FIRST_PORT + index, join(folder, kind)))
  const costs: number[][] = KINDS.map(() => [])
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    for (let turn = 0; turn < KINDS.length; turn++) {
      const index = (round + turn) % KINDS.length
      const used = await daemons[index]!.round()
      if (round >= WARM_UP_ROUNDS) costs[index]!.push(used)
    }
  }
  for (const daemon of daemons) await daemon.stop()
  return costs.map((each) => quantile(each, 0.25))
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
try {
  const ratios: (readonly [counted: number, scraped: number])[] = []
  for (let start = 0; start < STARTS; start++) {
    const [uncounted, counted, scraped] = await compared(join(folder, String(start)))
    ratios.push([counted! / uncounted!, scraped! / uncounted!])
  }
  const path = 'GET /api/v1/connections/{id}/code'
  report(
    `a daemon that counts ÷ one that does not, ${path}`,
    ratios.map(([counted]) => counted),
  )
  report(
    `the same, scraped before each round`,
    ratios.map(([, scraped]) => scraped),
  )
} finally {
  rmSync(folder, { recursive: true })
}
