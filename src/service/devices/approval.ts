/**
 * The relay of device approvals (docs/protocol.md section 3). The users compare the words on the
 * two devices. The server relays one commitment, one answer to it and one reveal, and restricts
 * the new device to read access until it posts its check of the key log.
 */
import type { Kysely } from 'kysely'
import type { Service } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { AppError } from '../../errors.ts'
import { approvedAt, unapprovedDevice } from '../accounts/device-rows.ts'
import { requireId, deviceOf, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { readKeyLog } from '../accounts/key-log-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

const LIFETIME_MS = 15 * 60_000

const attemptOf = (db: Kysely<Schema>, device: string, at: number) =>
  db
    .selectFrom('device_approvals')
    .selectAll()
    .where('device_id', '=', device)
    .where('begun_at', '>', at - LIFETIME_MS)
    .executeTakeFirst()

/** Throws AppError `conflict` unless a row was changed or holds the requested values already. */
function requireStored(changed: bigint, same: boolean): void {
  if (changed === 1n || same) return
  throw new AppError(
    'conflict',
    'This attempt is over, or further than that: begin a new one on the new device.',
  )
}

export const pendingDevices = ({ db, now }: ServiceContext): Service['pendingDevices'] => {
  async function waiting(id: string, account: string) {
    requireId('dev_', id, 'device')
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
      // A device that lost the response sends the same again.
      requireStored(changed, same && attempt.answer === answer)
    },
  }
}

export const approval = ({ db, now }: ServiceContext): Service['approval'] => ({
  begin: async ({ body: { commitment } }, session) => {
    const device_id = deviceOf(session)
    if ((await approvedAt(db, device_id)) !== null)
      throw new AppError('invalid_state', 'This device is approved already.', {
        details: { state: 'active' },
      })
    const fresh = { commitment, begun_at: now(), answered_by: null, answer: null, reveal: null }
    await db
      .insertInto('device_approvals')
      .values({ device_id, ...fresh })
      .onConflict((conflict) =>
        // The same commitment again is a retry after a lost response, and keeps the attempt.
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
        'No device has added this one to the key log yet: type its words on a device that is signed in.',
        { details: { state: 'pending' } },
      )
    if (!entries.some((entry) => encodeBase64url(entryHash(entry)) === body.head))
      throw new AppError('conflict', 'The key log has no entry with this hash: read it again.')
    await db.transaction().execute(async (trx) => {
      await trx
        .updateTable('devices')
        .set({ approved_at: now() })
        .where('id', '=', device)
        .where('keys', 'is', null)
        .where('revoked_at', 'is', null)
        .execute()
      await trx.deleteFrom('device_approvals').where('device_id', '=', device).execute()
    })
  },
})
