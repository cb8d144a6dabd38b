/**
 * Lists an account's devices, including pending ones, deletes pending devices, and relays
 * approvals.
 */
import type { Kysely } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { LoggedKeys } from '../../crypto/device-public-keys.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { ID_PREFIX } from '../../crypto/encoding/id.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import type { LoggedDevice } from '../../crypto/logs/key-log-ops.ts'
import { AppError } from '../../errors.ts'
import { approvedAt, deviceState, unapprovedDevice } from '../accounts/device-rows.ts'
import { entriesOf, readKeyLog } from '../accounts/key-log-rows.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/collections.ts'
import { deviceOf, notFound, requireId } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

const shownOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('devices')
    .select(['id', 'name', 'platform', 'keys', 'created_at', 'approved_at', 'seen_before_at'])
    .select((of) =>
      of
        .selectFrom('sessions')
        .select(({ fn }) => fn.max('last_seen_at').as('last'))
        .whereRef('device_id', '=', 'devices.id')
        .as('last_seen_at'),
    )
    .where('account_id', '=', account)
    .where('revoked_at', 'is', null)

/** Returns the later of two times in the API's format; null if both are null. */
const newestOf = (a: number | null, b: number | null): string | null =>
  a === null && b === null ? null : timeAt(Math.max(a ?? 0, b ?? 0))

/**
 * Returns the devices in an account's key log, with their public keys; null if there is no key log.
 */
async function loggedKeys(db: Kysely<Schema>, account: string) {
  const { entries } = await entriesOf(db, account)
  return entries.length === 0 ? null : (await storedKeyLog(account, entries)).devices
}

/** Returns the ids of a device's signing and sealing keys. */
const idsOf = ({ sign, seal }: Pick<LoggedKeys, 'sign' | 'seal'>) => [thumbprint(sign), seal]
const idsIn = (device: LoggedDevice | undefined) =>
  device === undefined ? [] : idsOf({ sign: device.keys.sign, seal: device.seal })

export const devices = ({ db }: ServiceContext): Service['devices'] => ({
  list: async (page, { account, device }) => {
    const rows = await pageRows(shownOf(db, account), page, ID_PREFIX.device)
    const logged = await loggedKeys(db, account)
    const items = rows.map(({ id, name, platform, keys, ...row }) => {
      const known = keys === null ? idsIn(logged?.get(id)) : idsOf(JSON.parse(keys) as LoggedKeys)
      return {
        id,
        name,
        platform,
        state: deviceState(row.approved_at),
        current: id === device,
        last_seen_at: newestOf(row.last_seen_at, row.seen_before_at),
        key_ids: known,
        created_at: timeAt(row.created_at),
      }
    })
    return pageOf(items, page)
  },

  delete: async ({ id }, { account }) => {
    requireId(ID_PREFIX.device, id, 'device')
    const isDeclined = await transactionWithMarks(db, async (trx) => {
      const { numDeletedRows: deleted } = await trx
        .deleteFrom('devices')
        .where('id', '=', id)
        .where('account_id', '=', account)
        .where('keys', 'is not', null)
        .executeTakeFirst()
      if (deleted === 1n) markChanged(trx, ['devices'], { accounts: [account] })
      return deleted === 1n
    })
    if (isDeclined) return
    const known = await shownOf(db, account).where('id', '=', id).executeTakeFirst()
    if (known === undefined) throw notFound('device')
    throw new AppError(
      'no_device',
      'Revoking this device needs the signature of a device of the account. Use the daemon of a device that is signed in.',
    )
  },
})

const LIFETIME_MS = 15 * 60_000

const attemptOf = (db: Kysely<Schema>, device: string, at: number) =>
  db
    .selectFrom('device_approvals')
    .selectAll()
    .where('device_id', '=', device)
    .where('begun_at', '>', at - LIFETIME_MS)
    .executeTakeFirst()

/** Throws AppError `conflict` unless a row was changed or already has the requested values. */
function requireStored(changed: bigint, same: boolean): void {
  if (changed === 1n || same) return
  throw new AppError(
    'conflict',
    'This attempt has ended, or this step was already done. Start a new attempt on the new device.',
  )
}

/**
 * The relay for device approvals (docs/protocol.md section 3). The user compares words on two
 * devices. The server relays one commitment, one answer to it and one reveal between them. The new
 * device has only read access until it posts its check of the key log.
 */
export const pendingDevices = ({ db, now }: ServiceContext): Service['pendingDevices'] => {
  async function waiting(id: string, account: string) {
    requireId(ID_PREFIX.device, id, 'device')
    const device = await unapprovedDevice(db, { account, device: id }, now())
    if (device === null) throw notFound('device')
    return device
  }

  return {
    read: async ({ id }, session) => {
      const device = await waiting(id, session.account)
      const attempt = await attemptOf(db, id, now())
      const reveal = attempt?.answered_by === deviceOf(session) ? attempt.reveal : null
      return {
        ...device,
        commitment: attempt?.commitment ?? null,
        answered_by: attempt?.answered_by ?? null,
        reveal: reveal === null ? null : JSON.parse(reveal),
      }
    },

    answer: async ({ id, body }, session) => {
      await waiting(id, session.account)
      const [by, answer] = [deviceOf(session), JSON.stringify(body.answer)]
      const { numUpdatedRows: changed } = await db
        .updateTable('device_approvals')
        .set({ answered_by: by, answer })
        .where('device_id', '=', id)
        .where('commitment', '=', body.commitment)
        .where('begun_at', '>', now() - LIFETIME_MS)
        .where('answer', 'is', null)
        .executeTakeFirst()
      const attempt = await attemptOf(db, id, now())
      const same = attempt?.commitment === body.commitment && attempt.answered_by === by
      // A device that lost the response sends the same answer again.
      requireStored(changed, same && attempt.answer === answer)
    },
  }
}

export const approval = ({ db, now }: ServiceContext): Service['approval'] => ({
  begin: async ({ body: { commitment } }, session) => {
    const device_id = deviceOf(session)
    if ((await approvedAt(db, device_id)) !== null)
      throw new AppError('invalid_state', 'This device is already approved.', {
        details: { state: 'active' },
      })
    const fresh = { commitment, begun_at: now(), answered_by: null, answer: null, reveal: null }
    await db
      .insertInto('device_approvals')
      .values({ device_id, ...fresh })
      .onConflict((conflict) =>
        // If the commitment is the same, the device has lost the response and retries. The attempt
        // is then kept.
        conflict
          .column('device_id')
          .doUpdateSet(fresh)
          .where('device_approvals.commitment', '!=', commitment),
      )
      .execute()
  },

  read: async (_, session) => {
    const attempt = await attemptOf(db, deviceOf(session), now())
    if (attempt === undefined) return { commitment: null, answer: null }
    const { commitment, answer } = attempt
    return { commitment, answer: answer === null ? null : JSON.parse(answer) }
  },

  reveal: async ({ body }, session) => {
    const device = deviceOf(session)
    const reveal = JSON.stringify(body.reveal)
    const { numUpdatedRows: changed } = await db
      .updateTable('device_approvals')
      .set({ reveal })
      .where('device_id', '=', device)
      .where('commitment', '=', body.commitment)
      .where('begun_at', '>', now() - LIFETIME_MS)
      .where('answer', 'is not', null)
      .where('reveal', 'is', null)
      .executeTakeFirst()
    const attempt = await attemptOf(db, device, now())
    requireStored(changed, attempt?.commitment === body.commitment && attempt.reveal === reveal)
  },

  create: async ({ body }, session) => {
    const device = deviceOf(session)
    // A device that lost the response sends its check again.
    if ((await approvedAt(db, device)) !== null) return
    const { entries } = await readKeyLog(db, session.account)
    const log = await storedKeyLog(session.account, entries)
    if (!log.active.some(({ id }) => id === device))
      throw new AppError(
        'invalid_state',
        'No device has added this device to the key log yet. Type the words of this device on a device that is signed in.',
        { details: { state: 'pending' } },
      )
    if (!entries.some((entry) => encodeBase64url(entryHash(entry)) === body.head))
      throw new AppError(
        'conflict',
        'The key log has no entry with this hash. Read the key log again.',
      )
    await transactionWithMarks(db, async (trx) => {
      await trx
        .updateTable('devices')
        .set({ approved_at: now() })
        .where('id', '=', device)
        .where('keys', 'is', null)
        .where('revoked_at', 'is', null)
        .execute()
      await trx.deleteFrom('device_approvals').where('device_id', '=', device).execute()
      // Other devices can now seal secrets to this one.
      markChanged(trx, ['duties'], { contactsOf: [session.account] })
      markChanged(trx, ['devices'], { accounts: [session.account] })
    })
  },
})
