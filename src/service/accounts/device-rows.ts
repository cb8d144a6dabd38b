/**
 * The devices of accounts as the tables have them: who waits, who is approved, and what ends with a device. A device waits with
 * its keys in its row; once the key log names it, they stand there.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Session } from '../../api/port.ts'
import type { LoggedKeys } from '../../crypto/device-public-keys.ts'
import { AppError } from '../../errors.ts'
import { deviceOf } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

type Row = Schema['devices']

/** A device that nobody adds to the key log for so long has been given up. */
const WAITING_MS = 7 * 24 * 3_600_000

/** The account or device is somebody's already, and says no more than that. */
export const taken = (): AppError =>
  new AppError('conflict', 'This account or device is enrolled already: make new keys and ids.')

/** Keep a new device. Throws AppError `conflict` when its id is taken. */
export async function addDevice(
  trx: Transaction<Schema>,
  of: Pick<
    Row,
    'id' | 'account_id' | 'name' | 'platform' | 'auth_kid' | 'seal_key' | 'keys' | 'approved_at'
  >,
  at: number,
): Promise<void> {
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('devices')
    .values({ ...of, created_at: at, revoked_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (made !== 1n) throw taken()
}

/** What a device is called; its id where it is not there any more. */
export async function deviceName(db: Kysely<Schema>, id: string): Promise<string> {
  const query = db.selectFrom('devices').select('name').where('id', '=', id)
  return (await query.executeTakeFirst())?.name ?? id
}

/** When a device was approved, null while it waits. Throws AppError `invalid_token` for one that was revoked. */
export async function approvedAt(db: Kysely<Schema>, device: string): Promise<number | null> {
  const row = await db
    .selectFrom('devices')
    .select('approved_at')
    .where('id', '=', device)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined)
    throw new AppError(
      'invalid_token',
      'This device was revoked: sign in on it anew, with new keys.',
    )
  return row.approved_at
}

/**
 * The device that asks, approved. It is asked for where the path alone does not say that reading is not enough.
 * @throws AppError `no_device`, `invalid_token`, `forbidden` while it waits for approval
 */
export async function demandApproved(db: Kysely<Schema>, session: Session): Promise<string> {
  const device = deviceOf(session)
  if ((await approvedAt(db, device)) === null)
    throw new AppError(
      'forbidden',
      'This device waits for approval and may only read: run "countersignd login" on it, and "countersignd device approve" on a device that is signed in.',
    )
  return device
}

/**
 * The same, inside a transaction that writes for the device: its revocation waits until that ends, so a device that was revoked
 * before writes nothing any more.
 */
export async function holdApproved(trx: Transaction<Schema>, session: Session): Promise<void> {
  // Changes nothing. It is how both engines hold a row.
  await trx
    .updateTable('devices')
    .set({ revoked_at: null })
    .where('id', '=', deviceOf(session))
    .where('revoked_at', 'is', null)
    .execute()
  await demandApproved(trx, session)
}

/**
 * Let what a device of an account is writing end, before a transaction that may end the device goes on. Whoever writes holds the row of
 * the device first (`holdApproved`), then that of a connection, then that of an account; in another order two would wait for each other.
 */
export async function holdDevice(
  trx: Transaction<Schema>,
  { account, device }: { account: string; device: string },
): Promise<void> {
  // Changes nothing.
  await trx
    .updateTable('devices')
    .set((of) => ({ revoked_at: of.ref('revoked_at') }))
    .where('account_id', '=', account)
    .where('id', '=', device)
    .execute()
}

/** The same of all devices of an account, always in the same order. */
export async function holdDevices(trx: Transaction<Schema>, account: string): Promise<void> {
  const devices = await trx
    .selectFrom('devices')
    .select('id')
    .where('account_id', '=', account)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()
  for (const { id } of devices) await holdDevice(trx, { account, device: id })
}

/** A device that waits and stands in no key log yet, with its keys; null where there is none. */
export async function waitingDevice(
  trx: Transaction<Schema>,
  { account, device }: { account: string; device: string },
  at: number,
): Promise<{ name: string; keys: LoggedKeys } | null> {
  const row = await trx
    .selectFrom('devices')
    .select('name')
    .select((of) => of.ref('keys').$castTo<string>().as('keys'))
    .where('account_id', '=', account)
    .where('id', '=', device)
    .where('keys', 'is not', null)
    .where('created_at', '>', at - WAITING_MS)
    .executeTakeFirst()
  return row === undefined ? null : { name: row.name, keys: JSON.parse(row.keys) as LoggedKeys }
}

/**
 * A device of an account that is not approved yet, whether or not the key log names it already;
 * null where there is none.
 */
export async function unapprovedDevice(
  db: Kysely<Schema>,
  { account, device }: { account: string; device: string },
  at: number,
): Promise<Pick<Row, 'id' | 'name' | 'platform'> | null> {
  const row = await db
    .selectFrom('devices')
    .select(['id', 'name', 'platform'])
    .where('account_id', '=', account)
    .where('id', '=', device)
    .where('approved_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where((of) => of.or([of('keys', 'is', null), of('created_at', '>', at - WAITING_MS)]))
    .executeTakeFirst()
  return row ?? null
}

/** Forget those that were given up, with their sessions. */
export async function forgetWaiting(db: Kysely<Schema>, at: number): Promise<void> {
  await db
    .deleteFrom('devices')
    .where('keys', 'is not', null)
    .where('created_at', '<=', at - WAITING_MS)
    .execute()
}

/** The key log names it now. Answers false when it was turned away meanwhile. */
export async function markLogged(trx: Transaction<Schema>, id: string): Promise<boolean> {
  const { numUpdatedRows: marked } = await trx
    .updateTable('devices')
    .set({ keys: null })
    .where('id', '=', id)
    .where('keys', 'is not', null)
    .executeTakeFirst()
  return marked === 1n
}

/** Keep the newest sealing key of a device, 1,216 bytes in base64url. */
export async function renewSealKey(
  trx: Transaction<Schema>,
  id: string,
  seal_key: string,
): Promise<void> {
  await trx.updateTable('devices').set({ seal_key }).where('id', '=', id).execute()
}

/**
 * Devices are revoked: their sessions end, and nothing stays that was sealed to them, nor what they sealed and might not have been opened
 * yet, which members would refuse.
 */
export async function endDevices(
  trx: Transaction<Schema>,
  devices: readonly string[],
  at: number,
): Promise<void> {
  if (devices.length === 0) return
  await trx
    .updateTable('devices')
    .set({ revoked_at: at, keys: null })
    .where('id', 'in', devices)
    .execute()
  await trx.deleteFrom('sessions').where('device_id', 'in', devices).execute()
  await trx.deleteFrom('envelopes').where('recipient', 'in', devices).execute()
  await trx.deleteFrom('envelopes').where('sender', 'in', devices).execute()
}

/** Whoever had a device that is gone may have asked for an address of their own: what waits to be confirmed is forgotten. */
export async function forgetClaims(trx: Transaction<Schema>, account: string): Promise<void> {
  await trx.deleteFrom('email_claims').where('account_id', '=', account).execute()
}

/** All devices of an account but one are lost. */
export async function endOtherDevices(
  trx: Transaction<Schema>,
  { account, device }: { account: string; device: string },
  at: number,
): Promise<void> {
  // Nobody will approve those that wait.
  await trx
    .deleteFrom('devices')
    .where('account_id', '=', account)
    .where('id', '!=', device)
    .where('keys', 'is not', null)
    .execute()
  const lost = await trx
    .selectFrom('devices')
    .select('id')
    .where('account_id', '=', account)
    .where('id', '!=', device)
    .where('revoked_at', 'is', null)
    .execute()
  const ids = lost.map(({ id }) => id)
  await endDevices(trx, ids, at)
  await forgetClaims(trx, account)
}
