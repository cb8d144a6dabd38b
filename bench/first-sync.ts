/**
 * Measures the first sync of a device in 1,000 connections, and the traffic of a sync without
 * news. Devices and server are in this process, the server on SQLite, so the time is that of
 * both, without a network; the bytes are those of the JSON bodies.
 *
 *   node bench/first-sync.ts
 */
import type { TestContext } from 'node:test'
import type { Account } from '../src/api/port.ts'
import { type DeviceUser, worldOf } from '../test/world/world.ts'
import { median, say } from './figures.ts'

const PEOPLE = 50
/** With each of them. */
const CONNECTIONS = 20
const ROUNDS = 3
/** No account may invite all at once. */
const DAY_MIN = 24 * 60

/** The cleanup functions of the test helpers. */
const ends: (() => unknown)[] = []
const t = { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** Returns an account that counts the bytes of request and response bodies. */
function counting(account: Account, bytes: { count: number }): Account {
  const calls = (group: object) =>
    Object.fromEntries(
      Object.entries(group as Record<string, (input: object) => Promise<unknown>>).map(
        ([name, call]) => [
          name,
          async (input: { body?: unknown }) => {
            const answer = await call(input)
            bytes.count += (input.body === undefined ? 0 : sizeOf(input.body)) + sizeOf(answer)
            return answer
          },
        ],
      ),
    )
  return Object.fromEntries(
    Object.entries(account).map(([group, of]) => [group, calls(of as object)]),
  ) as unknown as Account
}

/**
 * Measures a sync of a device: milliseconds of wall-clock time and of the processor, and bytes.
 */
async function measured(owner: DeviceUser) {
  const bytes = { count: 0 }
  const again = owner.restart((account) => counting(account, bytes))
  const cpu = process.cpuUsage()
  const from = performance.now()
  const { pulled } = await again.sync()
  const ms = performance.now() - from
  const { user, system } = process.cpuUsage(cpu)
  return { ms, cpuMs: (user + system) / 1000, bytes: bytes.count, pulled }
}

const all = (values: readonly number[]) =>
  `${median(values).toFixed(0)}  (${values.map((value) => value.toFixed(0)).join(' ')})`

async function measure(): Promise<void> {
  const { world, ada } = await worldOf(t, 'ada')
  for (let n = 0; n < PEOPLE; n++) {
    const bob = await world.person(`bob${n}`)
    for (let one = 0; one < CONNECTIONS; one++) {
      const connection = await ada.connect(`Bank ${n} ${one}`)
      await ada.invite(connection, { user_id: bob.id })
      await bob.approve()
    }
    await ada.sync()
    world.later(DAY_MIN)
  }
  const firsts = []
  const idle = []
  for (let round = 0; round < ROUNDS; round++) {
    const laptop = await world.further(ada, `laptop ${round}`)
    // The secrets are sealed to it.
    await ada.sync()
    const first = await measured(laptop)
    if (first.pulled.secrets !== PEOPLE * CONNECTIONS)
      throw new Error(`${first.pulled.secrets} secrets came`)
    firsts.push(first)
    idle.push(await measured(laptop))
  }
  const connections = PEOPLE * CONNECTIONS
  say(`First sync of ${connections} connections, ms: ${all(firsts.map(({ ms }) => ms))}`)
  say(`  of the processor, ms: ${all(firsts.map(({ cpuMs }) => cpuMs))}`)
  say(`  bytes of bodies: ${all(firsts.map(({ bytes }) => bytes))}`)
  say(`A sync without news, ms: ${all(idle.map(({ ms }) => ms))}`)
  say(`  bytes of bodies: ${all(idle.map(({ bytes }) => bytes))}`)
}

try {
  await measure()
} finally {
  for (const end of ends.toReversed()) await end()
}
