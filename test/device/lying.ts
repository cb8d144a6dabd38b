/**
 * An account server that lies to one device: what it shows in place of rosters, key logs and
 * envelopes, and what its accomplices sign.
 */
import assert from 'node:assert/strict'
import type { Account } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { signJws } from '../../src/crypto/jws-signature.ts'
import { type Desk, restless } from './people.ts'
import { paged } from './paged.ts'

/** What stands between a device and its account. */
type Lie = (account: Account) => Account

/** Every place of a key log: "there is more than you know". */
const MORE = 99_999

/** Rosters as the server shows them; every sync is told that all have changed. */
export const showing =
  (
    change: (
      entries: readonly string[],
      connection: string,
    ) => readonly string[] | Promise<readonly string[]>,
  ): Lie =>
  (account) => ({
    ...restless(account),
    rosters: {
      ...account.rosters,
      read: async ({ connection, from }) => {
        const { entries, key_logs } = await account.rosters.read({ connection })
        return { ...paged(await change(entries, connection), { from }), key_logs }
      },
    },
  })

type ShownLog = Omit<Awaited<ReturnType<Account['keyLogs']['read']>>, 'seq'>

/** The key log of one account as the server shows it, wherever a device asks for it. */
export const showingLog =
  (of: string, change: (honest: ShownLog) => ShownLog | Promise<ShownLog>): Lie =>
  (account) => ({
    ...restless(account),
    keyLogs: {
      ...account.keyLogs,
      read: async (query) => {
        if (query.account !== of) return account.keyLogs.read(query)
        const shown = await change(await account.keyLogs.read({ account: of }))
        return { ...shown, ...paged(shown.entries, query) }
      },
    },
    rosters: {
      ...account.rosters,
      read: async (query) => {
        const { key_logs, ...page } = await account.rosters.read(query)
        const longer = key_logs.map((log) => (log.account === of ? { ...log, seq: MORE } : log))
        return { ...page, key_logs: longer }
      },
    },
  })

/** The envelopes of every connection as the server shows them. */
export const showingEnvelopes =
  (envelopes: readonly string[]): Lie =>
  (account) => ({
    ...restless(account),
    envelopes: { ...account.envelopes, read: async () => ({ envelopes: [...envelopes] }) },
  })

/** The device after a start at which the server began to lie, and what its sync said then. */
export async function lied(desk: Desk, lie: Lie): Promise<{ lied: Desk; error: string }> {
  const there = desk.restart(lie)
  const { error } = await there.device().sync.run('request')
  return { lied: there, error: error ?? '' }
}

/** The device after a start at which the server is honest again; its sync goes well. */
export async function honest(desk: Desk): Promise<Desk> {
  const there = desk.restart((account) => account)
  await there.sync()
  return there
}

/** The members of a signed structure, unverified. */
export const membersOf = (jws: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())

/** The next entry of a roster, signed by a device that keeps to no rule. */
export async function forgedEntry(
  desk: Desk,
  connection: string,
  members: Record<string, unknown>,
): Promise<string> {
  const { entries } = await desk.account().rosters.read({ connection })
  const last = entries.at(-1) ?? assert.fail('a roster has entries')
  const { identity } = desk.device()
  const [{ sign }, log] = [await identity.keys(), await identity.keyLog()]
  const payload = {
    v: 2,
    connection,
    seq: entries.length,
    epoch: membersOf(last)['epoch'],
    prev: encodeBase64url(hashOf(last)),
    actor: desk.id,
    device: desk.deviceId,
    actor_log: { seq: log.seq, head: encodeBase64url(log.head) },
    at: 1,
    ...members,
  }
  return signJws('roster+jws', identity.kid, payload, sign.secret)
}

/** The newest place of somebody's key log, as entries name it. */
export async function placeOf(desk: Desk): Promise<{ seq: number; head: string }> {
  const { seq, head } = await desk.device().identity.keyLog()
  return { seq, head: encodeBase64url(head) }
}
