/**
 * Measures how soon a change reaches the other daemons: two daemons and an account server on
 * PostgreSQL, each a process of its own. No sync is requested.
 *
 *   npm run bench:live        one process of the account server
 *   npm run bench:live -- 2   two replicas behind a balancer
 */
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Person, invited, person } from '../test/e2e/person.ts'
import { startBalancer, startReplica } from '../test/e2e/servers.ts'
import { freshFolder } from '../test/keychain/fresh-folder.ts'
import { freePort } from '../test/free-port.ts'
import { startPostgres } from '../test/service/postgres.ts'
import { median, say } from './figures.ts'

const APPROVALS = 50
const REMOVALS = 10
/** An address gets only a few codes in a quarter of an hour. */
const DEVICES = 3
/**
 * The time between two approvals or removals, in milliseconds. Without a pause, the limit of one
 * sync each second after 60 would be measured.
 */
const PAUSE_MS = 1_000

const closers: (() => unknown)[] = []
/** Collects what must be closed, as a test does. */
const t = { after: (close: () => unknown) => closers.push(close) } as unknown as TestContext

/**
 * Returns the time until a device has an event about a connection, in milliseconds since `began`.
 * @param since the place after which the event is looked for
 */
async function heard(at: Person, of: { type: string; id: string; since: string; began: number }) {
  let { since } = of
  for (;;) {
    const query = `wait=30&types=${of.type}&since=${since}`
    const page = await at.call(`GET /api/v1/events?${query}`)
    if (
      page.items.some(
        (event: { data: { connection_id: string } }) => event.data.connection_id === of.id,
      )
    )
      return performance.now() - of.began
    since = page.since
  }
}

const placeOf = async (of: Person): Promise<string> =>
  (await of.call('GET /api/v1/events?wait=0')).since

function report(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1]!
  const [middle, longest] = [median(sorted), sorted.at(-1)!].map((ms) => ms.toFixed(0))
  say(
    `${what}, ${times.length} times: median ${middle} ms, p95 ${p95.toFixed(0)} ms, longest ${longest} ms`,
  )
}

async function main(replicas: number): Promise<void> {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const ports = await Promise.all(Array.from({ length: replicas }, freePort))
  const { url } = await startBalancer(t, ports)
  const mailDir = freshFolder(t)
  const shared = { databaseUrl: await postgres.newDatabase(), publicUrl: url, mailDir }
  for (const port of ports) {
    const replica = await startReplica(t, port, shared)
    t.after(() => replica.end('SIGKILL'))
  }
  const ada = await person(t, 'ada', { url, mailDir })
  const bob = await person(t, 'bob', { url, mailDir })

  const approvals: number[] = []
  const connections: string[] = []
  for (let n = 0; n < APPROVALS; n++) {
    const { id, connection_id: connection } = await invited(ada, bob, `Connection ${n}`)
    await setTimeout(PAUSE_MS)
    const places = await Promise.all([ada, bob].map(placeOf))
    const began = performance.now()
    await bob.call(`POST /api/v1/invitations/${id}/approve`)
    const ready = [ada, bob].map((one, i) =>
      // The one who created the connection had its words before; the other joins it.
      heard(one, {
        type: one === ada ? 'member.joined' : 'connection.ready',
        id: connection,
        since: places[i]!,
        began,
      }),
    )
    approvals.push(Math.max(...(await Promise.all(ready))))
    if (!(await ada.codeOf(connection)) || !(await bob.codeOf(connection)))
      throw new Error('one of the two has no words')
    connections.push(connection)
  }
  report('approval → words on both sides', approvals)

  const devices: number[] = []
  for (let n = 0; n < DEVICES; n++) {
    const began = performance.now()
    const further = await person(t, 'ada', { url, mailDir, first: ada.stateDir })
    while (!(await further.codeOf(connections[0]!)));
    devices.push(performance.now() - began)
    await further.daemon.end('SIGTERM')
  }
  report('second device: start, sign-in, comparison of words → words', devices)

  const removals: number[] = []
  const { id: member } = (await bob.call('GET /api/v1/context')).user
  for (const connection of connections.slice(0, REMOVALS)) {
    await setTimeout(PAUSE_MS)
    const { words } = await bob.call(`GET /api/v1/connections/${connection}/code`)
    const since = await placeOf(bob)
    const began = performance.now()
    await ada.call(`DELETE /api/v1/connections/${connection}/members/${member}`)
    removals.push(await heard(bob, { type: 'connection.removed', id: connection, since, began }))
    if (await bob.codeOf(connection)) throw new Error('the removed device still has words')
    const { verified } = await ada.call('POST /api/v1/verify', { words })
    if (verified) throw new Error('the words of the removed device are still accepted')
  }
  report("removal → the removed device's words are gone", removals)
}

let code = 0
try {
  await main(Number(process.argv[2] ?? 1))
} catch (error) {
  console.error(error)
  code = 1
}
for (const close of closers.toReversed()) await close()
// Explicit, since the PostgreSQL package otherwise ends the process with its own exit code, also
// after an error.
process.exit(code)
