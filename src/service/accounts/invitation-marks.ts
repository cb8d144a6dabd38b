/** Marks for syncs what changes in the lists of sent and received invitations. */
import type { ExpressionBuilder, ExpressionWrapper, SqlBool, Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import type { Subscriber } from '../events.ts'

/** The columns that name the sides of an invitation. */
export const SIDES = ['from_account', 'to_account', 'to_email'] as const
type Sides = Pick<Schema['invitations'], (typeof SIDES)[number]>

/** Marks the lists of both sides of invitations as changed. The invitations may be deleted. */
export async function markSides(trx: Transaction<Schema>, all: readonly Sides[]): Promise<void> {
  const mailboxes = all.flatMap(({ to_account, to_email }) =>
    to_account === null && to_email !== null ? [to_email] : [],
  )
  const mailed =
    mailboxes.length === 0
      ? []
      : await trx
          .selectFrom('emails')
          .select('account_id as to_account')
          .where('address', 'in', [...new Set(mailboxes)])
          .execute()
  const accounts = new Set([
    ...all.map(({ from_account }) => from_account),
    ...[...all, ...mailed].flatMap(({ to_account }) => to_account ?? []),
  ])
  markChanged(trx, ['invitations'], { accounts: [...accounts] })
}

/**
 * Marks the lists of both sides of invitations as changed. Call this before invitations are
 * deleted.
 * @param which a condition for the invitations
 */
export const markInvitations = async (
  trx: Transaction<Schema>,
  which: (
    of: ExpressionBuilder<Schema, 'invitations'>,
  ) => ExpressionWrapper<Schema, 'invitations', SqlBool>,
): Promise<void> =>
  markSides(trx, await trx.selectFrom('invitations').select(SIDES).where(which).execute())

/** Marks the lists of both sides of these invitations as changed. */
export const markInvitationsNamed = async (
  trx: Transaction<Schema>,
  invitations: readonly { readonly id: string }[],
): Promise<void> => {
  const ids = invitations.map(({ id }) => id)
  if (ids.length > 0) await markInvitations(trx, (of) => of('id', 'in', ids))
}

/**
 * Marks the lists of an account, and of all other sides of its invitations, as changed: the lists
 * show its name and its mailbox, and a new mailbox may have been invited.
 */
export async function markInvitationsOf(trx: Transaction<Schema>, account: string): Promise<void> {
  markChanged(trx, ['invitations'], { accounts: [account] })
  await markInvitations(trx, (of) =>
    of.or([of('from_account', '=', account), of('to_account', '=', account)]),
  )
}

/** Marks the invitations of an account with a new mailbox or name. */
export const markInvited: Subscriber<'email.added' | 'profile.signed'> = ({ trx }, { account }) =>
  markInvitationsOf(trx, account)
