/**
 * Faults between a device and its account in a history: a crash, or a dishonest server.
 * The server keeps back or repeats what it has.
 */
import type { Account } from '../../../src/api/port.ts'
import type { memoryServer } from '../memory-server.ts'
import { paged } from '../../world/paged.ts'
import { restless } from '../../world/interceptor.ts'

/** A call that did not return: it failed before it reached the server, or after. */
export class Crash extends Error {}

type Groups = Record<string, Record<string, (input: unknown) => Promise<unknown>>>

/** Returns the account; the device dies at the n-th call. */
export function dyingAt(account: Account, n: number, after: boolean): Account {
  let calls = 0
  let dead = false
  const dying = (call: (input: unknown) => Promise<unknown>) => async (input: unknown) => {
    if (dead) throw new Crash()
    calls += 1
    dead = calls === n
    if (dead && !after) throw new Crash()
    const answer = await call(input)
    if (dead) throw new Crash()
    return answer
  }
  const groups = Object.entries(account as unknown as Groups).map(([group, rows]) => [
    group,
    Object.fromEntries(Object.entries(rows).map(([name, call]) => [name, dying(call)])),
  ])
  return Object.fromEntries(groups) as Account
}

const without = (entries: readonly string[]) =>
  entries.length > 1 ? entries.slice(0, -1) : [...entries]

/** Returns the account of a server that changes the entries of every log. */
const showing = (
  account: Account,
  change: (entries: readonly string[]) => readonly string[],
): Account => ({
  ...restless(account),
  keyLogs: {
    ...account.keyLogs,
    read: async (of) => {
      const { entries, seal_keys } = await account.keyLogs.read({ account: of.account })
      return { ...paged(change(entries), of), seal_keys }
    },
  },
  // So that the device reads all key logs.
  followedKeyLogs: { list: async () => ({ items: [], next_cursor: null }) },
  rosters: {
    ...account.rosters,
    read: async (of) => {
      const { entries, key_logs } = await account.rosters.read({ connection: of.connection })
      return { ...paged(change(entries), of), key_logs }
    },
  },
})

/** The lies of a dishonest server in one sync of a device. */
export const LIES = ['withheld', 'entries', 'envelopes', 'consents'] as const
export type Lie = (typeof LIES)[number]

type Lying = (account: Account, server: ReturnType<typeof memoryServer>, device: string) => Account

const BY_LIE: Record<Lie, Lying> = {
  /** The newest entry, envelope or consent is kept back. */
  withheld: (account) => ({
    ...showing(account, without),
    envelopes: { ...account.envelopes, read: async () => ({ envelopes: [] }) },
  }),
  /** An entry comes twice. */
  entries: (account) => showing(account, (entries) => [...entries, entries[0]!]),
  /** The oldest envelope in place of the newest; no other one is deleted. */
  envelopes: (account, { rosters }, device) => ({
    ...restless(account),
    envelopes: {
      ...account.envelopes,
      read: async ({ connection }) => ({
        envelopes: rosters.sealed(connection, device).slice(0, 1),
      }),
      delete: async () => undefined,
    },
  }),
  /** The first consent that added the account, in place of the newest one. */
  consents: (account, { rosters }) => ({
    ...restless(account),
    duties: {
      read: async (of) => {
        const { joins, ...more } = await account.duties.read(of)
        const old = joins.map((join) => {
          const [first] = rosters.consented(join.connection, join.account)
          return first === undefined ? join : { ...join, consent: first }
        })
        return { ...more, joins: old }
      },
    },
  }),
}

/** Returns the account as a dishonest server shows it to a device. */
export const lyingTo = (lie: Lie, ...of: Parameters<Lying>): Account => BY_LIE[lie](...of)
