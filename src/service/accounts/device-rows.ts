/**
 * Device rows: pending and approved devices, and the data that is deleted when a device ends. A
 * pending device's row contains its keys. After the key log names the device, the keys are in the
 * key log instead.
 */
import type { Kysely, Transaction } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import type { LoggedKeys } from '../../crypto/device-public-keys.ts'
import { AppError } from '../../errors.ts'
import { deviceOf } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

type Row = Schema['devices']

/** A pending device is deleted if it is not added to the key log within this time. */
const WAITING_MS = 7 * 24 * 3_600_000

/** Returns the state of a device with this approval time, as the API names it. */
export const deviceState = (approvedAt: number | null): 'pending' | 'active' =>
  approvedAt === null ? 'pending' : 'active'

/** Returns the error for an account or device id that already exists. It reveals nothing else. */
export const taken = (): AppError =>
  new AppError('conflict', 'This account or device is already enrolled. Create new keys and ids.')

/** Stores a new device. Throws AppError `conflict` if its id is taken. */
export async function insertDevice(
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

/** Returns the name of a device, or its id if the device no longer exists. */
export async function deviceName(db: Kysely<Schema>, id: string): Promise<string> {
  const query = db.selectFrom('devices').select('name').where('id', '=', id)
  return (await query.executeTakeFirst())?.name ?? id
}

/**
 * Returns the approval time of a device, or null while it is pending.
 * @throws AppError `invalid_token` for a revoked device
 */
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
      'This device was revoked. Sign in again on this device, with new keys.',
    )
  return row.approved_at
}

/**
 * Returns the session's device, which must be approved. Use it for operations that need more than
 * read access although their path does not show it.
 * @throws AppError `no_device`, `invalid_token`, or `forbidden` if the device waits for approval
 */
export async function requireApproved(db: Kysely<Schema>, session: CallerSession): Promise<string> {
  const device = deviceOf(session)
  if ((await approvedAt(db, device)) === null)
    throw new AppError(
      'forbidden',
      'This device waits for approval and may only read. Run "countersignd login" on this device, and "countersignd device approve" on a device that is signed in.',
    )
  return device
}

/**
 * Locks the session's device in a transaction that writes for the device, which must be approved. A
 * revocation of the device waits until the transaction ends, so a revoked device cannot write.
 */
export async function holdApproved(
  trx: Transaction<Schema>,
  session: CallerSession,
): Promise<void> {
  // This update changes nothing. It locks the row in both database engines.
  await trx
    .updateTable('devices')
    .set({ revoked_at: null })
    .where('id', '=', deviceOf(session))
    .where('revoked_at', 'is', null)
    .execute()
  await requireApproved(trx, session)
}

/**
 * Locks a device, and so waits for transactions that write for it. Call it before the device is
 * ended. To avoid deadlocks, transactions must lock the device's row first (`holdApproved`), then
 * the connection's row, then the account's row.
 */
export async function holdDevice(
  trx: Transaction<Schema>,
  { account, device }: { account: string; device: string },
): Promise<void> {
  // This update changes nothing. It only locks the row.
  await trx
    .updateTable('devices')
    .set((of) => ({ revoked_at: of.ref('revoked_at') }))
    .where('account_id', '=', account)
    .where('id', '=', device)
    .execute()
}

/** Locks all devices of an account, always in the order of their ids. */
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

/**
 * Returns a pending device with its keys; null if there is none, or if the key log already names
 * it.
 */
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
 * Returns an account's device that is not approved yet, or null. The key log may already name the
 * device.
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

/** Deletes the devices that have been pending for too long, with their sessions. */
export async function forgetWaiting(db: Kysely<Schema>, at: number): Promise<void> {
  await transactionWithMarks(db, async (trx) => {
    const rows = await trx
      .deleteFrom('devices')
      .where('keys', 'is not', null)
      .where('created_at', '<=', at - WAITING_MS)
      .returning('account_id')
      .execute()
    markChanged(trx, ['devices'], { accounts: rows.map(({ account_id }) => account_id) })
  })
}

/** Records that the key log names the device. Returns false if the device is no longer pending. */
export async function markLogged(trx: Transaction<Schema>, id: string): Promise<boolean> {
  const { numUpdatedRows: marked } = await trx
    .updateTable('devices')
    .set({ keys: null })
    .where('id', '=', id)
    .where('keys', 'is not', null)
    .executeTakeFirst()
  return marked === 1n
}

/** Stores the newest sealing key of a device, 1,216 bytes in base64url. */
export async function updateSealKey(
  trx: Transaction<Schema>,
  id: string,
  seal_key: string,
): Promise<void> {
  await trx.updateTable('devices').set({ seal_key }).where('id', '=', id).execute()
}

/**
 * Marks devices as revoked, and deletes their sessions and the envelopes to and from them. Members
 * would reject an envelope that a revoked device sealed, if they have not opened it yet.
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

/**
 * Deletes an account's pending address claims. The user of a revoked device may have added an
 * address of their own.
 */
export async function forgetClaims(trx: Transaction<Schema>, account: string): Promise<void> {
  await trx.deleteFrom('email_claims').where('account_id', '=', account).execute()
}

/** Ends all devices of an account except one. */
export async function endOtherDevices(
  trx: Transaction<Schema>,
  { account, device }: { account: string; device: string },
  at: number,
): Promise<void> {
  // The pending devices are deleted, because no device is left that could approve them.
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
