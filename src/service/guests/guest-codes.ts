/**
 * Guest codes. The device makes and stores the secret. The server stores only that the code
 * exists, when it expires and whether its page was opened. A revoked code stays in the list, so
 * that its owner sees what happened to it.
 */
import type { ExpressionBuilder, Kysely } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { GuestCode } from '../../api/rest/guest-codes.ts'
import { AppError } from '../../errors.ts'
import { holdExternalMember } from '../connections/external-members.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/page-rows.ts'
import type { Schema } from '../db/schema.ts'
import { GUEST_CODE_PREFIX, guestCodeResource } from './guest-code-rows.ts'

/** Selects guest codes, each with the name of its external member. */
const guestCodeRows = (db: Kysely<Schema>) =>
  db
    .selectFrom('guest_codes')
    .selectAll()
    .select((of) =>
      of
        .selectFrom('external_members')
        .select('display_name')
        .whereRef('external_members.id', '=', 'guest_codes.external_member_id')
        .as('external_member_name'),
    )

/** Returns a condition for guest codes in a state, equal to `guestCodeState`. */
const isInState = (
  of: ExpressionBuilder<Schema, 'guest_codes'>,
  state: GuestCode['state'],
  now: number,
) =>
  state === 'revoked'
    ? of('revoked_at', 'is not', null)
    : of.and([
        of('revoked_at', 'is', null),
        of('expires_at', state === 'expired' ? '<=' : '>', now),
      ])

export const guestCodes = ({ db, now }: ServiceContext): Service['guestCodes'] => ({
  list: async ({ state, ...page }, { account }) => {
    const at = now()
    const rows = await pageRows(
      guestCodeRows(db)
        .where('account_id', '=', account)
        .$if(state !== undefined, (query) => query.where((of) => isInState(of, state!, at))),
      page,
      GUEST_CODE_PREFIX,
    )
    return pageOf(
      rows.map((row) => guestCodeResource(row, at)),
      page,
    )
  },
  delete: async ({ id }, { account }) => {
    requireId(GUEST_CODE_PREFIX, id, 'guest code')
    const { numUpdatedRows: revoked } = await db
      .updateTable('guest_codes')
      .set((fields) => ({ revoked_at: fields.fn.coalesce('revoked_at', fields.val(now())) }))
      .where('id', '=', id)
      .where('account_id', '=', account)
      .executeTakeFirst()
    if (revoked === 0n) throw notFound('guest code')
  },
})

export const deviceGuestCodes = (ground: ServiceContext): Service['deviceGuestCodes'] => ({
  send: async (input, session) => (await import('./guest-mail.ts')).sendBy(ground)(input, session),

  create: async ({ body }, { account }) => {
    const { db, now } = ground
    const { id, label, external_member_id: external } = body
    const expires_at = Date.parse(body.expires_at)
    if (!Number.isFinite(expires_at))
      throw invalid('body', [{ path: 'expires_at', message: 'Expected a time that exists.' }])
    const at = now()
    const row = await db.transaction().execute(async (trx) => {
      if (external !== null) await holdExternalMember(trx, { account, id: external })
      await trx
        .insertInto('guest_codes')
        .values({
          id,
          account_id: account,
          label,
          expires_at,
          revoked_at: null,
          last_opened_at: null,
          created_at: at,
          external_member_id: external,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      // A device that lost the response sends the request again and gets the stored code.
      return guestCodeRows(trx)
        .where('id', '=', id)
        .where('account_id', '=', account)
        .where('label', '=', label)
        .where('expires_at', '=', expires_at)
        .where('external_member_id', external === null ? 'is' : '=', external)
        .executeTakeFirst()
    })
    if (row === undefined)
      throw new AppError('conflict', 'There is another guest code with this id: make a new one.')
    return guestCodeResource(row, at)
  },
})
