/**
 * Invitations, as the inviter and the invited account see and answer them. For other accounts an
 * invitation does not exist. An approval alone gives no access: a device of the inviter must then
 * add the account, with the consent that the approving device signed (`consents.ts`).
 */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { AppError } from '../../errors.ts'
import { lockConnection, roleIn } from './connection-rows.ts'
import { receiversOf } from './invitation-ends.ts'
import { markInvitationsNamed } from '../accounts/invitation-marks.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import {
  type Named,
  INVITATION_PREFIX,
  selectInvitations as rows,
  isInState,
  isLeftBehind,
  invitationResource,
  stateOf,
} from './invitation-rows.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'

/** How many invitations are listed for each direction, newest first. */
const MOST = 500

const ENDED: Readonly<Record<Invitation['state'], string>> = {
  pending: 'This invitation has not been answered yet.',
  approved:
    'This invitation was approved and has become a membership. Leave the connection, or remove the member, instead.',
  declined: 'This invitation was declined. Send or ask for another one.',
  withdrawn: 'This invitation was withdrawn. Ask for another one.',
  expired: 'This invitation has expired. Ask for another one.',
}

const ended = (state: Invitation['state'], message = ENDED[state]) =>
  new AppError('invalid_state', message, { details: { state } })

/** Returns the error for an invitation that an account used to join, if it has left since. */
const served = () =>
  ended('approved', 'This invitation was used, and the member has since left. Ask for another one.')

/**
 * Returns whether an invitation is for the account. The invitation must name the account or, if no
 * account has approved it, a mailbox that the account has confirmed.
 */
export async function isFor(db: Kysely<Schema>, account: string, row: Named): Promise<boolean> {
  if (row.to_account !== null) return row.to_account === account
  const own = await db
    .selectFrom('emails')
    .select('address')
    .where('address', '=', row.to_email)
    .where('account_id', '=', account)
    .executeTakeFirst()
  return own !== undefined
}

/**
 * Selects invitations by their state at `at` (Unix milliseconds). An undefined state selects all.
 */
interface Filter {
  readonly state: Invitation['state'] | undefined
  readonly at: number
}

const sentBy = async (db: Kysely<Schema>, account: string, { state, at }: Filter) =>
  rows(db)
    .where('from_account', '=', account)
    .$if(state !== undefined, (query) => query.where((of) => isInState(of, state!, at)))
    .orderBy('invitations.id', 'desc')
    .limit(MOST)
    .execute()

/**
 * Returns the invitations that an account received. If the account is already a member, an
 * invitation to its mailbox is hidden, because an answer would reveal to the inviter which account
 * the mailbox belongs to. The invitation stays hidden after the member leaves.
 */
async function receivedBy(db: Kysely<Schema>, account: string, { state, at }: Filter) {
  const all = () =>
    rows(db)
      .where((of) =>
        of.or([
          // `expired` is treated like `pending`, so that a hidden invitation stays hidden after its
          // expiry is stored.
          of('state', 'not in', ['pending', 'expired']),
          of.and([
            of('consent', '!=', 2),
            of.not(
              of.exists(
                of
                  .selectFrom('memberships')
                  .select('account_id')
                  .where('account_id', '=', account)
                  .whereRef('memberships.connection_id', '=', 'invitations.connection_id'),
              ),
            ),
          ]),
        ]),
      )
      .$if(state !== undefined, (query) => query.where((of) => isInState(of, state!, at)))
      .orderBy('invitations.id', 'desc')
      .limit(MOST)
  // Two queries, because each of them can use an index.
  const byAccount = await all().where('to_account', '=', account).execute()
  const byMailbox = await all()
    .where('to_account', 'is', null)
    .where('to_email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
    .execute()
  return [...byAccount, ...byMailbox].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, MOST)
}

async function both(db: Kysely<Schema>, account: string, filter: Filter) {
  const received = await receivedBy(db, account, filter)
  const sent = await sentBy(db, account, filter)
  return {
    received: received.map((row) => invitationResource(row, 'received', filter.at)),
    sent: sent.map((row) => invitationResource(row, 'sent', filter.at)),
  }
}

/** The changes that an answer makes to a row; null if it changes nothing. */
type Change = Partial<Pick<Named, 'state' | 'consent' | 'consent_jws' | 'to_account'>> | null

/**
 * Returns an invitation's state as the receiver sees it. An invitation that `endUnseenOf` disabled
 * counts as withdrawn.
 */
const receivedState = (row: Named, at: number) =>
  isLeftBehind(row) ? 'withdrawn' : stateOf(row, at)

/**
 * Returns an invitation that an account may approve or has approved.
 * @throws AppError `not_found`, `invalid_state`
 */
export async function approvable(
  { db, now }: Pick<ServiceContext, 'db' | 'now'>,
  of: { id: string; account: string },
): Promise<Named> {
  requireId(INVITATION_PREFIX, of.id, 'invitation')
  const row = await rows(db).where('invitations.id', '=', of.id).executeTakeFirst()
  if (row === undefined || !(await isFor(db, of.account, row))) throw notFound('invitation')
  const state = receivedState(row, now())
  const isServed = state === 'approved' && row.consent !== 1
  if (isServed && (await roleIn(db, row.connection_id, of.account)) === null) throw served()
  if (state !== 'pending' && state !== 'approved') throw ended(state)
  return row
}

/** Returns the operations that answer invitations, which `invitations` and `consents` use. */
export const invitationAnswers = ({ events, now }: Pick<ServiceContext, 'events' | 'now'>) => {
  /**
   * Answers an invitation while its connection is locked.
   * @param decide returns the changes to the row. `isMember`: whether the invited account is a
   *   member.
   */
  async function answer(
    of: { id: string; account: string; direction: Invitation['direction'] },
    decide: (trx: Transaction<Schema>, row: Named, isMember: boolean) => Promise<Change> | Change,
  ): Promise<Invitation> {
    const { id, account, direction } = of
    requireId(INVITATION_PREFIX, id, 'invitation')
    return events.transaction(async (trx) => {
      const read = () => rows(trx).where('invitations.id', '=', id).executeTakeFirst()
      const before = await read()
      if (before !== undefined) await lockConnection(trx, before.connection_id)
      const row = await read()
      const isTheirs =
        row !== undefined &&
        (direction === 'sent' ? row.from_account === account : await isFor(trx, account, row))
      if (!isTheirs) throw notFound('invitation')
      const invited = direction === 'sent' ? row.to_account : account
      const isMember = invited !== null && (await roleIn(trx, row.connection_id, invited)) !== null
      const change = await decide(trx, row, isMember)
      if (change !== null) {
        await trx.updateTable('invitations').set(change).where('id', '=', id).execute()
        markChanged(trx, ['duties'], { accounts: [row.from_account] })
        await markInvitationsNamed(trx, [row])
      }
      const after = change === null ? row : await read()
      // It had ended long ago and was deleted in between.
      if (after === undefined) throw notFound('invitation')
      const isNews = change !== null && change.state !== row.state
      const answer = direction === 'received' && isNews ? change.state : undefined
      if (answer === 'approved' || answer === 'declined')
        await publishAnswer(trx, after, { answer, by: account })
      if (direction === 'sent' && change !== null) {
        const receivers = await receiversOf(trx, [row])
        await events.publish(trx, { type: 'invitation.withdrawn', receivers, at: now() })
      }
      return invitationResource(after, direction, now())
    })
  }

  const publishAnswer = (
    trx: Transaction<Schema>,
    row: Named,
    { answer, by }: { answer: 'approved' | 'declined'; by: string },
  ) =>
    events.publish(trx, {
      type: 'invitation.answered',
      answer,
      by,
      invitation: row.id,
      connection: row.connection_id,
      connectionName: row.connection_name,
      from: row.from_account,
      to: { account: row.to_account, email: row.to_email, name: row.to_name },
      at: now(),
    })

  /** Declines the other invitations to the same connection that the account has approved. */
  async function declineAll(
    trx: Transaction<Schema>,
    { id, connection_id, to_account }: Named,
    account: string,
  ) {
    const others = await trx
      .updateTable('invitations')
      .set({ state: 'declined', consent: 0, consent_jws: null })
      .where('connection_id', '=', connection_id)
      .where('to_account', '=', to_account)
      .where('state', '=', 'approved')
      .where('id', '!=', id)
      .returning('id')
      .execute()
    await markInvitationsNamed(trx, others)
    for (const other of others) {
      const row = await rows(trx).where('invitations.id', '=', other.id).executeTakeFirstOrThrow()
      await publishAnswer(trx, row, { answer: 'declined', by: account })
    }
  }

  return {
    /**
     * Approves an invitation with a consent. The caller must have verified the consent against the
     * account's key log.
     * @param requireGood checks the consent against the connection, while the connection is locked
     */
    approve: (
      id: string,
      account: string,
      consent_jws: string,
      requireGood: (trx: Transaction<Schema>) => Promise<void>,
    ) =>
      answer({ id, account, direction: 'received' }, async (trx, row, isMember) => {
        const state = receivedState(row, now())
        if (state === 'approved' && isMember) return null
        if (state === 'approved' && row.consent !== 1) throw served()
        if (state !== 'pending' && state !== 'approved') throw ended(state)
        await requireGood(trx)
        return { state: 'approved', consent: isMember ? 2 : 1, consent_jws, to_account: account }
      }),

    decline: (id: string, account: string) =>
      answer({ id, account, direction: 'received' }, async (trx, row, isMember) => {
        const state = receivedState(row, now())
        if (state === 'declined') return null
        if (state === 'approved' && !isMember) await declineAll(trx, row, account)
        else if (state !== 'pending') throw ended(state)
        return { state: 'declined', consent: 0, consent_jws: null }
      }),

    withdraw: (id: string, account: string) =>
      answer({ id, account, direction: 'sent' }, (_, row, isMember) => {
        const state = stateOf(row, now())
        if (state === 'withdrawn') return null
        const isOpen = state === 'pending' || (state === 'approved' && !isMember)
        if (!isOpen) throw ended(state)
        return { state: 'withdrawn', consent: 0 }
      }),
  }
}

export const invitations = (ground: ServiceContext): Service['invitations'] => {
  const { db, now } = ground
  const answers = invitationAnswers(ground)
  return {
    list: async ({ state }, { account }) => both(db, account, { state, at: now() }),
    pending: async (_, { account }) => both(db, account, { state: 'pending', at: now() }),
    approve: () => {
      const message =
        'Approving an invitation needs a device’s keys. Approve the invitation on a device that is signed in.'
      throw new AppError('no_device', message)
    },
    decline: async ({ id }, { account }) => answers.decline(id, account),
    withdraw: async ({ id }, { account }) => answers.withdraw(id, account),
  }
}
