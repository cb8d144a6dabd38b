/**
 * Signatures verified before anybody waits for the connection that they are about. Of two hundred members they take a second or two:
 * here they are taken a few at a time, so that others are answered meanwhile, and what verified once costs next to nothing
 * inside the transaction that decides (`verifyJws`).
 */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { parseJws } from '../crypto/jws.ts'
import { type KeyLog, verifyKeyLog, verifySignedBy } from '../crypto/key-log.ts'
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

/** Verify an entry that a member's device sends, if it does, and the roster and key logs that it is judged by. Throws nothing about it. */
export async function verifyAhead(
  db: Kysely<Schema>,
  connection: string,
  sender: Sender,
  entry?: string,
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
  await inSlices(entries, (jws) => {
    const parsed = parseJws(jws, 'roster+jws')
    const [actor, device] = ['actor', 'device'].map((name) => parsed.payload.get(name) as string)
    const signer = logs.get(actor!)?.devices.get(device!)
    if (signer !== undefined) verifySignedBy(signer, parsed)
  })
}
