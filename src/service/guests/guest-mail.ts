/**
 * Mails the link of a guest code at the request of its device. The link contains the guest's
 * secret, which the server puts into the mail and stores nowhere. The mail is composed after the
 * transaction that counts the attempt.
 */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import { displayName, primaryAddress } from '../accounts/account-record.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { GUEST_CODE_PREFIX, guestCodeState, guestCodeResource } from './guest-code-rows.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { guestCodeMessage } from '../mail/messages-from-others.ts'
import { mailboxOf } from '../accounts/mailboxes.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const HOUR_MS = 3_600_000

const SENT: Brake = {
  what: 'guest mail',
  most: 20,
  periodMs: HOUR_MS,
  told: 'Too many guest codes were mailed: 20 an hour is the most.',
}
const SENT_TO_ONE: Brake = {
  what: 'guest mail to one',
  most: 5,
  periodMs: HOUR_MS,
  told: 'Too many guest codes were mailed to this address: 5 an hour is the most.',
}

/** Mails to one mailbox from all accounts: the owner of the mailbox may be a stranger. */
const MAILS: Allowance = { what: 'guest mail', most: 10, periodMs: HOUR_MS }

const crowded = () =>
  new AppError(
    'rate_limited',
    'Too many guest codes were mailed to this address: try again in an hour, or hand the link over in another way.',
    { headers: { 'Retry-After': String(HOUR_MS / 1000) } },
  )

/**
 * Returns the mailbox of an address as SHA-256 in hex, for counting attempts without the address.
 */
const tagOf = (address: string) => createHash('sha256').update(mailboxOf(address)).digest('hex')

/**
 * Returns a guest code with the address of its external member.
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
    { path: 'to', message: 'Give an address: this guest code has no external member with one.' },
  ])

/** Mails the link of a guest code. The mail is sent after the response. */
export const sendBy =
  ({ db, now, mail, background, publicUrl }: ServiceContext): Service['deviceGuestCodes']['send'] =>
  async ({ id, body }, { account }) => {
    const at = now()
    const { row, letter } = await db.transaction().execute(async (trx) => {
      const { email, ...guest } = await guestCodeOf(trx, { account, id })
      const state = guestCodeState(guest, at)
      if (state !== 'active')
        throw new AppError(
          'invalid_state',
          `This guest code is ${state}: its link opens nothing any more.`,
          { details: { state } },
        )
      const to = (body.to ?? email)?.toLowerCase()
      if (to === undefined) throw nowhere()
      await countTryIn(trx, account, SENT, at)
      await countTryIn(trx, account, SENT_TO_ONE, at, tagOf(to))
      if (!(await takePlace(trx, MAILS, to, at))) throw crowded()
      const from = await displayName(trx, account)
      const fromEmail = await primaryAddress(trx, account)
      return { row: guest, letter: { to, from, fromEmail, until: guest.expires_at } }
    })
    const server = publicUrl()
    const link = `${server}/g/${id}#${body.secret}`
    background.run(() => mail.send(guestCodeMessage({ ...letter, link, publicUrl: server })))
    return guestCodeResource(row, at)
  }
