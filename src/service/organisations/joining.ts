/**
 * Joining an organisation. An account that confirms an invited mailbox becomes a member. If the
 * account is already an active member, it gets the invitation's role if that is wider. A suspended
 * member is not activated by an invitation to another mailbox.
 */
import type { Kysely, Transaction } from 'kysely'
import type { OrgEvent } from '../../api/rest/org.ts'
import type { ServiceContext } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import { isWider, type Role, widenMember } from './member-rows.ts'
import { lockOrganisation } from './organisations.ts'
import { markOrganisation } from './organisation-marks.ts'
import type { Schema } from '../db/schema.ts'
import type { Subscriber } from '../events.ts'

type Invite = Schema['organisation_invites']
/** Selects the open invitations to an account's confirmed mailboxes, oldest first. */
const invitesOf = (db: Kysely<Schema>, account: string): Promise<Invite[]> =>
  db
    .selectFrom('organisation_invites')
    .selectAll()
    .where('email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
    .where('state', '=', 'invited')
    .orderBy('id')
    .execute()

/** How invitations changed an account's membership. */
interface Taken {
  readonly event: Extract<OrgEvent, 'member_joined' | 'member_role_changed'>
  readonly role: Role
}

/**
 * Makes an account a member by its invitations to one organisation, and deletes the invitations.
 * The caller must have locked the organisation.
 * @param invites the account's invitations, at least one, oldest first. The widest role applies.
 * @returns null if the account is already a member and its role does not become wider
 */
export async function joinByInvites(
  trx: Transaction<Schema>,
  { account, invites, at }: { account: string; invites: readonly Invite[]; at: number },
): Promise<Taken | null> {
  const { id, organisation_id, role, email, created_at } = invites.reduce((widest, one) =>
    isWider(one.role, widest.role) ? one : widest,
  )
  await trx
    .deleteFrom('organisation_invites')
    .where(
      'id',
      'in',
      invites.map((one) => one.id),
    )
    .execute()
  markOrganisation(trx, organisation_id, [account])
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('organisation_members')
    .values({
      organisation_id,
      account_id: account,
      role,
      state: 'active',
      joined_at: at,
      member_id: id,
      invited_at: created_at,
      email,
    })
    .onConflict((conflict) => conflict.columns(['organisation_id', 'account_id']).doNothing())
    .executeTakeFirstOrThrow()
  if (made === 1n) return { event: 'member_joined', role }
  const isWidened = await widenMember(trx, { organisation: organisation_id, account, role })
  return isWidened ? { event: 'member_role_changed', role } : null
}

/** Makes an account a member of every organisation that invited one of its confirmed mailboxes. */
async function joinInvited(
  ground: Pick<ServiceContext, 'db' | 'events' | 'now'>,
  account: string,
): Promise<void> {
  const { db, events, now } = ground
  const waiting = await invitesOf(db, account)
  if (waiting.length === 0) return
  const organisations = [...new Set(waiting.map((one) => one.organisation_id))].sort()
  await events.transaction(async (trx) => {
    for (const organisation of organisations) await lockOrganisation(trx, organisation)
    await lockAccount(trx, account)
    const at = now()
    // Reads the invitations again under the lock. Some may be used by now, and new ones are left
    // for the next call.
    const invites = Map.groupBy(await invitesOf(trx, account), (one) => one.organisation_id)
    const all: [organisation: string, taken: Taken][] = []
    for (const organisation of organisations) {
      const own = invites.get(organisation)
      const taken =
        own === undefined ? null : await joinByInvites(trx, { account, invites: own, at })
      if (taken !== null) all.push([organisation, taken])
    }
    for (const [organisation, { event: change, role }] of all)
      await events.publish(trx, {
        type: 'organisation.joined',
        organisation,
        account,
        change,
        role,
        at,
      })
  })
}

/**
 * After an account has signed in or confirmed an address, joins the organisations that invited it.
 */
export const joining =
  (
    ground: Pick<ServiceContext, 'db' | 'events' | 'now'>,
  ): Subscriber<'account.signed_in' | 'email.added'> =>
  ({ afterCommit }, { account }) =>
    afterCommit(() => joinInvited(ground, account))
