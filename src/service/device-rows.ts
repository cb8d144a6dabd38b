/**
 * The devices of accounts as the tables have them: who waits, who is approved, and what ends with a device. A device waits with
 * its keys in its row; once the key log names it, they stand there.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Session } from '../api/port.ts'
import type { DeviceJwks } from '../crypto/device-keys.ts'
import { AppError } from '../errors.ts'
import { deviceOf } from './faults.ts'
import type { Schema } from './schema.ts'

type Row = Schema['devices']

/** Keep a new device; false when its id is taken. */
export async function addDevice(
  trx: Transaction<Schema>,
  of: Pick<Row, 'id' | 'account_id' | 'name' | 'platform' | 'auth_kid' | 'keys' | 'approved_at'>,
  at: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('devices')
    .values({ ...of, created_at: at, revoked_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return made === 1n
}

/** When a device was approved, null while it waits. Throws AppError `invalid_token` for one that was revoked. */
export async function approvedAt(db: Kysely<Schema>, device: string): Promise<number | null> {
  const row = await db
    .selectFrom('devices')
    .select('approved_at')
    .where('id', '=', device)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined) throw new AppError('invalid_token', 'This device was revoked.')
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
      'This device waits for approval and may only read: type its six words on a device that is signed in.',
    )
  return device
}

/** The device of an account that waits with these keys in its row; null when none does. */
export async function waitingDevice(
  trx: Transaction<Schema>,
  account: string,
  id: string,
): Promise<{ name: string; keys: DeviceJwks } | null> {
  const row = await trx
    .selectFrom('devices')
    .select(['name', 'keys'])
    .where('id', '=', id)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (row === undefined || row.keys === null) return null
  return { name: row.name, keys: JSON.parse(row.keys) as DeviceJwks }
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

/** Devices are revoked: their sessions end, and nothing stays that was sealed to them. */
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
}

/** Whether two devices have the same keys. */
export const sameKeys = (a: DeviceJwks, b: DeviceJwks): boolean =>
  (['sign', 'seal', 'auth'] as const).every(
    (use) => a[use].crv === b[use].crv && a[use].x === b[use].x,
  )
