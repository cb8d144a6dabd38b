/**
 * Signatures verified before anybody waits for the connection that they are about. Of two hundred members they take a second or two:
 * here they are taken a few at a time, so that others are answered meanwhile, and what verified once costs next to nothing
 * inside the transaction that decides (`verifyJws`).
 */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Typ } from '../crypto/jws.ts'
import { parseJws } from '../crypto/jws.ts'
import { type KeyLog, verifyKeyLog, verifySignedBy } from '../crypto/key-log-v1.ts'
import { Refusal } from '../crypto/refusal.ts'
import { accountsOf } from '../crypto/roster.ts'
import { roleIn } from './connection-rows.ts'
import type { Sender } from './envelope-rows.ts'
import { logEntries, rosterEntries } from './roster-rows.ts'
import type { Schema } from './schema.ts'

/** So long the program does nothing else, in milliseconds. */
const SLICE_MS = 10

/** Whatever is wrong is told by what decides. */
function tried(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let began = performance.now()
  for (const item of items) {
    tried(() => work(item))
    if (performance.now() - began < SLICE_MS) continue
    await setImmediate()
    began = performance.now()
  }
}

/** Verify what a member's device sends of a connection, and the roster and key logs that it is judged by. Throws nothing about it. */
export async function verifyAhead(
  db: Kysely<Schema>,
  connection: string,
  sender: Sender,
  { entry, envelopes }: { entry?: string; envelopes: readonly string[] },
): Promise<void> {
  // Nobody else is to make this program work.
  if ((await roleIn(db, connection, sender.account)) === null) return
  const entries = await rosterEntries(db, connection)
  if (entry !== undefined) entries.push(entry)
  let accounts: string[] = []
  tried(() => (accounts = accountsOf(entries)))
  if (accounts.length === 0) return
  const logs = new Map<string, KeyLog>()
  await inSlices(await logEntries(db, connection, accounts), ([account, log]) =>
    logs.set(account, verifyKeyLog(account, log)),
  )
  const verify = (typ: Typ, jws: string, by: (payload: ReadonlyMap<string, unknown>) => Sender) => {
    const parsed = parseJws(jws, typ)
    const { account, device } = by(parsed.payload)
    const signer = logs.get(account)?.devices.get(device)
    if (signer !== undefined) verifySignedBy(signer, parsed)
  }
  await inSlices(entries, (jws) =>
    verify('roster+jws', jws, (payload) => ({
      account: payload.get('actor') as string,
      device: payload.get('device') as string,
    })),
  )
  await inSlices(envelopes, (jws) => verify('envelope+jws', jws, () => sender))
}
