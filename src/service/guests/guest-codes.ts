/**
 * Guest codes. A device creates and stores the secret. The server stores only that the code exists,
 * when it expires and whether its page was opened. A revoked code stays in the list, so that its
 * owner sees what happened to it. If a device asks for it, the server mails the secret to the
 * guest, without storing it.
 */
import type { ExpressionBuilder, Kysely } from 'kysely'
import { createHash } from 'node:crypto'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { GuestCode } from '../../api/rest/guest-codes.ts'
import { AppError } from '../../errors.ts'
import { displayName, primaryAddress } from '../accounts/account-record.ts'
import { type Allowance, mailboxOf, takePlace } from '../accounts/mail-allowance.ts'
import { holdExternalMember } from '../connections/external-members.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import { pageRows } from '../db/collections.ts'
import { notFound, requireId } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

const GUEST_CODE_PREFIX = 'gst_'

type Row = Schema['guest_codes'] & {
  /** The name of the external member; null for a code without an external member. */
  readonly external_member_name: string | null
}

/** Returns the state of a guest code. A code that is both revoked and expired counts as revoked. */
export function guestCodeState(row: Pick<Row, 'revoked_at' | 'expires_at'>, now: number) {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at <= now ? 'expired' : 'active'
}

/** Returns a guest code as a resource. The device adds the secret, which only it stores. */
const guestCodeResource = (row: Row, now: number): GuestCode => ({
  id: row.id,
  label: row.label,
  state: guestCodeState(row, now),
  expires_at: timeAt(row.expires_at),
  external_member_id: row.external_member_id,
  external_member: externalMemberOf(row),
  last_opened_at: row.last_opened_at === null ? null : timeAt(row.last_opened_at),
  secret_here: false,
  code: null,
  created_at: timeAt(row.created_at),
})

const externalMemberOf = (row: Row): GuestCode['external_member'] =>
  row.external_member_id === null || row.external_member_name === null
    ? null
    : { id: row.external_member_id, display_name: row.external_member_name }

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

/** Returns a condition for guest codes to which `guestCodeState` gives this state. */
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

export const guestCodes = ({ db, events, now }: ServiceContext): Service['guestCodes'] => ({
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
    await events.transaction(async (trx) => {
      const { numUpdatedRows: revoked } = await trx
        .updateTable('guest_codes')
        .set((fields) => ({ revoked_at: fields.fn.coalesce('revoked_at', fields.val(now())) }))
        .where('id', '=', id)
        .where('account_id', '=', account)
        .executeTakeFirst()
      if (revoked === 0n) throw notFound('guest code')
      markChanged(trx, ['guest_codes'], { accounts: [account] })
      await events.publish(trx, { type: 'guest_code.revoked', account, code: id, at: now() })
    })
  },
})

export const deviceGuestCodes = (ground: ServiceContext): Service['deviceGuestCodes'] => ({
  send: sendBy(ground),

  create: async ({ body }, { account }) => {
    const { db, now } = ground
    const { id, label, external_member_id: external } = body
    const expires_at = Date.parse(body.expires_at)
    if (!Number.isFinite(expires_at))
      throw invalid('body', [{ path: 'expires_at', message: 'This time does not exist.' }])
    const at = now()
    const row = await transactionWithMarks(db, async (trx) => {
      markChanged(trx, ['guest_codes'], { accounts: [account] })
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
      // A device that lost the response sends the request again, and gets the stored code.
      return guestCodeRows(trx)
        .where('id', '=', id)
        .where('account_id', '=', account)
        .where('label', '=', label)
        .where('expires_at', '=', expires_at)
        .where('external_member_id', external === null ? 'is' : '=', external)
        .executeTakeFirst()
    })
    if (row === undefined)
      throw new AppError('conflict', 'Another guest code has this id. Create a new guest code.')
    return guestCodeResource(row, at)
  },
})

const HOUR_MS = 3_600_000

const SENT: Brake = {
  what: 'guest mail',
  most: 20,
  periodMs: HOUR_MS,
  message: 'Too many guest codes were mailed. The limit is 20 an hour.',
}
const SENT_TO_ONE: Brake = {
  what: 'guest mail to one',
  most: 5,
  periodMs: HOUR_MS,
  message: 'Too many guest codes were mailed to this address. The limit is 5 an hour.',
}

/**
 * The limit for mails to one mailbox from all accounts. The owner of the mailbox may be a stranger.
 */
const MAILS: Allowance = { what: 'guest mail', most: 10, periodMs: HOUR_MS }

const crowded = () =>
  new AppError(
    'rate_limited',
    'Too many guest codes were mailed to this address. Try again in an hour, or hand over the link in another way.',
    { headers: { 'Retry-After': String(HOUR_MS / 1000) } },
  )

/**
 * Returns the SHA-256 of an address's mailbox in hex. Attempts are counted by this hash, so that
 * the address is not stored.
 */
const tagOf = (address: string) => createHash('sha256').update(mailboxOf(address)).digest('hex')

/**
 * Returns a guest code with the mail address of its external member.
 * @throws AppError `not_found`
 */
async function guestCodeOf(db: Kysely<Schema>, { account, id }: { account: string; id: string }) {
  requireId(GUEST_CODE_PREFIX, id, 'guest code')
  const row = await db
    .selectFrom('guest_codes')
    .leftJoin('external_members', 'external_members.id', 'external_member_id')
    .selectAll('guest_codes')
    .select(['email', 'external_members.display_name as external_member_name'])
    .where('guest_codes.id', '=', id)
    .where('guest_codes.account_id', '=', account)
    .executeTakeFirst()
  if (row === undefined) throw notFound('guest code')
  return row
}

const nowhere = () =>
  invalid('body', [
    {
      path: 'to',
      message: 'Give an address, because this guest code has no external member with one.',
    },
  ])

/** Mails a guest code's link. The mail is sent in the background. */
const sendBy =
  ({ db, now, mail, background, publicUrl }: ServiceContext): Service['deviceGuestCodes']['send'] =>
  async ({ id, body }, { account }) => {
    // An idle daemon lists guest codes, but needs no texts of letters.
    const [{ readerAt, readerOf }, { guestCodeMessage }] = await Promise.all([
      import('../accounts/readers.ts'),
      import('../mail/messages-from-others.ts'),
    ])
    const at = now()
    const { row, letter } = await db.transaction().execute(async (trx) => {
      const { email, ...guest } = await guestCodeOf(trx, { account, id })
      const state = guestCodeState(guest, at)
      if (state !== 'active')
        throw new AppError(
          'invalid_state',
          `This guest code is ${state}, so its link no longer works.`,
          { details: { state } },
        )
      const to = (body.to ?? email)?.toLowerCase()
      if (to === undefined) throw nowhere()
      await countTryIn(trx, account, SENT, at)
      await countTryIn(trx, account, SENT_TO_ONE, at, tagOf(to))
      if (!(await takePlace(trx, MAILS, to, at))) throw crowded()
      const from = await displayName(trx, account)
      const fromEmail = await primaryAddress(trx, account)
      const reader = await readerAt(trx, to, await readerOf(trx, account))
      return { row: guest, letter: { to, reader, from, fromEmail, until: guest.expires_at } }
    })
    const server = publicUrl()
    const link = `${server}/g/${id}#${body.secret}`
    background.run(() => mail.send(guestCodeMessage({ ...letter, link, publicUrl: server })))
    return { ...guestCodeResource(row, at), mailed: mail.isRelayed }
  }
