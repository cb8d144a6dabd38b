/**
 * Measures the CPU time of PostgreSQL for one request of a device, with and without named
 * statements, in alternation. Each is divided by the CPU time of one prepared look-up by key in the
 * same run, as `pgbench --select-only --protocol=prepared` makes it, so that runs on different
 * machines can be compared. Linux only.
 *
 *   node bench/postgres-cpu.ts
 */
import { join } from 'node:path'
import pg from 'pg'
import { openRemote } from '../src/remote/remote.ts'
import type { Account } from '../src/api/port.ts'
import { startAccountServer } from '../test/account-server.ts'
import { codeIn, lettersIn } from '../test/service/letters.ts'
import { connect, enrolmentOf, newMaker } from '../test/service/person.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { fill, newRow } from './account-rows.ts'
import { median, say } from './figures.ts'
import { newLookUp, postmasterOf, usedBy } from './postgres-usage.ts'

const ACCOUNTS = 2000
const CONNECTIONS = 10
/** Measured rounds, after one that is not counted. */
const ROUNDS = 5
/** The requests of each kind in a round. */
const TIMES = 200
/** The look-ups that the requests are compared with, in a round. */
const LOOK_UPS = 4000

const VARIANTS = ['off', 'auto'] as const

const closers: (() => unknown)[] = []
const t = { after: (fn: unknown) => void closers.push(fn as () => unknown) }

const REQUESTS: Readonly<Record<string, (of: { account: Account; id: string }) => unknown>> = {
  'read the profile': ({ account }) => account.profile.read({}),
  'read a connection': ({ account, id }) => account.connections.read({ id }),
  'list 10 connections': ({ account }) => account.connections.list({}),
  'list notifications': ({ account }) => account.notifications.list({}),
}

/** Opens an account server and signs in a device with connections. */
async function openVariant(url: string, prepare: string) {
  const server = await startAccountServer(t, {
    SVC_DATABASE_URL: url,
    SVC_DATABASE_PREPARE: prepare,
  })
  const remote = openRemote({ base: server.address, ca: null, now: Date.now })
  t.after(() => remote.close())
  const door = remote.door()
  const email = `${prepare}@example.org`
  await door.signIns.create({ body: { email } })
  const letter = (await lettersIn(join(server.stateDir, 'mail'), email)).at(-1)!
  const maker = newMaker()
  const enrolment = await door.enrolment.create(enrolmentOf(maker, codeIn(letter)))
  const account = remote.account({
    key: async () => maker.keys.auth,
    refreshToken: () => enrolment.session.refresh_token,
  })
  const ids: string[] = []
  for (let i = 0; i < CONNECTIONS; i++)
    ids.push((await connect({ ...maker, account, enrolment }, `Friend ${i}`)).id)
  return { account, id: ids[0]! }
}

async function main(): Promise<void> {
  const at = Date.now()
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const url = await postgres.newDatabase()
  const client = new pg.Client(url)
  await client.connect()
  t.after(() => client.end())
  const postmaster = await postmasterOf(client)

  const first = await startAccountServer(t, { SVC_DATABASE_URL: url })
  await first.close()
  await fill(
    url,
    Array.from({ length: ACCOUNTS }, () => newRow(at)),
    at,
  )
  const lookUp = await newLookUp(client)
  await client.query('vacuum analyze')

  const taken = new Map<string, number[]>()
  const measure = async (name: string, times: number, once: (i: number) => unknown) => {
    const from = usedBy(postmaster)
    for (let i = 0; i < times; i++) await once(i)
    const ms = (usedBy(postmaster) - from) / times
    taken.set(name, [...(taken.get(name) ?? []), ms])
  }
  const variants: [string, Awaited<ReturnType<typeof openVariant>>][] = []
  for (const prepare of VARIANTS) variants.push([prepare, await openVariant(url, prepare)])
  for (let round = 0; round <= ROUNDS; round++) {
    if (round === 1) taken.clear()
    await measure('look-up', LOOK_UPS, lookUp)
    for (const [name, once] of Object.entries(REQUESTS))
      for (const [prepare, of] of variants)
        await measure(`${name} ${prepare}`, TIMES, () => once(of))
  }
  const of = (name: string) => median(taken.get(name)!)
  const unit = of('look-up')
  say(`one prepared look-up by key: ${unit.toFixed(4)} ms of PostgreSQL CPU\n`)
  const row = (...cells: string[]) => say(cells.map((cell) => cell.padStart(20)).join(''))
  row('a request', ...VARIANTS.flatMap((prepare) => [`${prepare}: ms`, '÷ look-up']))
  for (const name of Object.keys(REQUESTS))
    row(
      name,
      ...VARIANTS.flatMap((prepare) => {
        const ms = of(`${name} ${prepare}`)
        return [ms.toFixed(3), (ms / unit).toFixed(1)]
      }),
    )
}

try {
  await main()
} finally {
  for (const close of closers.toReversed()) await close()
}
// Explicit, since the PostgreSQL package otherwise ends the process with its own exit code.
process.exit(0)
