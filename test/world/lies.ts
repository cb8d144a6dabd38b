/**
 * An account server that lies to one device.
 * It replaces rosters, key logs and envelopes, and accomplices sign for it.
 */
import assert from 'node:assert/strict'
import type { Account } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import { type DeviceUser } from './world.ts'
import { paged } from './paged.ts'
import { type Between, both, instead, restless } from './interceptor.ts'

/** The last place of a key log. Reported as its end, it makes the device fetch more. */
const MORE = 99_999

/** An account server that changes the rosters it returns, and reports all of them as changed. */
export const showing = (
  change: (
    entries: readonly string[],
    connection: string,
  ) => readonly string[] | Promise<readonly string[]>,
): Between =>
  both(
    restless,
    instead('rosters', 'read', (read) => async ({ connection, from }) => {
      const honest = await read({ connection })
      return { ...honest, ...paged(await change(honest.entries, connection), { from }) }
    }),
  )

type ShownLog = Omit<Awaited<ReturnType<Account['keyLogs']['read']>>, 'seq'>

/** An account server that changes the key log of one account, in every answer that has it. */
export const showingLog = (
  of: string,
  change: (honest: ShownLog) => ShownLog | Promise<ShownLog>,
): Between =>
  both(
    restless,
    instead('keyLogs', 'read', (read) => async (query) => {
      if (query.account !== of) return read(query)
      const shown = await change(await read({ account: of }))
      return { ...shown, ...paged(shown.entries, query) }
    }),
    instead('rosters', 'read', (read) => async (query) => {
      const honest = await read(query)
      const key_logs = honest.key_logs.map((log) =>
        log.account === of ? { ...log, seq: MORE } : log,
      )
      return { ...honest, key_logs }
    }),
  )

/** An account server that returns these envelopes for every connection. */
export const showingEnvelopes = (envelopes: readonly string[]): Between =>
  both(
    restless,
    instead('envelopes', 'read', () => async () => ({ envelopes: [...envelopes] })),
  )

/**
 * Restarts the device with a server that lies.
 * @returns the device and the error of its sync; empty for none
 */
export async function lied(
  user: DeviceUser,
  lie: Between,
): Promise<{ lied: DeviceUser; error: string }> {
  const there = user.restart(lie)
  const { error } = await there.device().sync.run('request')
  return { lied: there, error: error ?? '' }
}

/** Restarts the device with an honest server and runs a successful sync. */
export async function honest(user: DeviceUser): Promise<DeviceUser> {
  const there = user.restart((account) => account)
  await there.sync()
  return there
}

/** Returns the members of a signed structure, unverified. */
export const membersOf = (jws: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString())

/** Returns the next entry of a roster, signed by a device that follows no rule. */
export async function forgedEntry(
  user: DeviceUser,
  connection: string,
  members: Record<string, unknown>,
): Promise<string> {
  const { entries } = await user.account().rosters.read({ connection })
  const last = entries.at(-1) ?? assert.fail('a roster has entries')
  const { identity } = user.device()
  const [{ sign }, log] = [await identity.keys(), await identity.keyLog()]
  const payload = {
    v: 2,
    connection,
    seq: entries.length,
    epoch: membersOf(last)['epoch'],
    prev: encodeBase64url(entryHash(last)),
    actor: user.id,
    device: user.deviceId,
    actor_log: { seq: log.seq, head: encodeBase64url(log.head) },
    at: 1,
    ...members,
  }
  return signJws('roster+jws', identity.kid, payload, sign.secret)
}

/** Returns the head of a device’s own key log in the form that entries use. */
export async function placeOf(user: DeviceUser): Promise<{ seq: number; head: string }> {
  const { seq, head } = await user.device().identity.keyLog()
  return { seq, head: encodeBase64url(head) }
}
