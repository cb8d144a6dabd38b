/**
 * The pending work that an account's devices can do for other accounts. The lists are only hints: a
 * device checks rosters and key logs itself before it signs or seals anything.
 */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Service } from '../../api/port.ts'
import type { ServiceContext } from '../context.ts'
import { isWaiting } from './invitation-rows.ts'
import { replacementsFor } from './replacements.ts'
import type { Schema } from '../db/schema.ts'

/**
 * How many items of each kind one response contains at most. The others follow when these are done.
 */
const MOST = 1000
/** How many connections are read per query. */
const SLICE = 200

/** Returns the accounts that approved an invitation from this account and wait to be added. */
async function joinsOf(db: Kysely<Schema>, account: string, at: number) {
  const rows = await db
    .selectFrom('invitations')
    .innerJoin('memberships', 'memberships.connection_id', 'invitations.connection_id')
    .select([
      'invitations.connection_id as connection',
      'to_email as email',
      'consent_jws as consent',
    ])
    .select((of) => of.ref('to_account').$castTo<string>().as('account'))
    .distinct()
    .where('account_id', '=', account)
    .where('from_account', '=', account)
    .where('role', '=', 'owner')
    .where('consent_jws', 'is not', null)
    .$narrowType<{ consent: string }>()
    .where((of) => isWaiting(of, at))
    .orderBy('connection')
    .limit(MOST)
    .execute()
  return rows.map((row) => ({ ...row }))
}

/** Returns the account's next connections after the id `last`, in the order of their ids. */
const connectionsAfter = (db: Kysely<Schema>, account: string, last: string) =>
  db
    .selectFrom('memberships')
    .innerJoin('connections', 'connections.id', 'connection_id')
    .select(['id', 'epoch'])
    .where('account_id', '=', account)
    .where('connection_id', '>', last)
    .where('ended_at', 'is', null)
    .orderBy('connection_id')
    .limit(SLICE)
    .execute()

/**
 * Returns the members' devices that have no envelope of a connection's current epoch. The two lists
 * are compared here and not in SQL, because the database may otherwise read every envelope of a
 * device for each of its connections.
 */
async function unsealedIn(
  db: Kysely<Schema>,
  connections: readonly { readonly id: string; readonly epoch: number }[],
): Promise<{ connection: string; device: string }[]> {
  const ids = connections.map(({ id }) => id)
  const devices = await db
    .selectFrom('memberships')
    .innerJoin('devices', 'devices.account_id', 'memberships.account_id')
    .select(['connection_id', 'devices.id as device'])
    .where('connection_id', 'in', ids)
    .where('approved_at', 'is not', null)
    .where('revoked_at', 'is', null)
    .orderBy('connection_id')
    .orderBy('device')
    .execute()
  const envelopes = await db
    .selectFrom('envelopes')
    .select(['connection_id', 'recipient', 'epoch'])
    .where('connection_id', 'in', ids)
    .execute()
  const nameOf = (...parts: readonly [string, string, number]) => parts.join()
  const sealed = new Set(
    envelopes.map(({ connection_id, recipient, epoch }) => nameOf(connection_id, recipient, epoch)),
  )
  const epochOf = new Map(connections.map(({ id, epoch }) => [id, epoch]))
  return devices
    .map(({ connection_id: connection, device }) => ({ connection, device }))
    .filter(
      ({ connection, device }) => !sealed.has(nameOf(connection, device, epochOf.get(connection)!)),
    )
}

async function unsealedOf(db: Kysely<Schema>, account: string) {
  const found = new Map<string, string[]>()
  // The connections are read in slices, because there may be many of them and other requests must
  // not wait.
  for (let last = ''; found.size < MOST;) {
    const connections = await connectionsAfter(db, account, last)
    if (connections.length === 0) break
    last = connections.at(-1)!.id
    // Lets other requests run first, because SQLite queries block the event loop.
    await setImmediate()
    for (const { connection, device } of await unsealedIn(db, connections)) {
      const devices = found.get(connection) ?? []
      devices.push(device)
      found.set(connection, devices)
    }
  }
  return [...found].slice(0, MOST).map(([connection, devices]) => ({ connection, devices }))
}

export const duties = ({ db, now }: ServiceContext): Service['duties'] => ({
  read: async (_, { account }) => {
    const joins = await joinsOf(db, account, now())
    const unsealed = await unsealedOf(db, account)
    const replacements = await replacementsFor(db, account, now())
    return { joins, unsealed, ...(replacements.length === 0 ? {} : { replacements }) }
  },
})
