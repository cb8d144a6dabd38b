/**
 * Joining an organisation: whoever proves a mailbox that it invited is a member from then on. Who is active already gets the role that the
 * invitation says where it is wider; no further mailbox of somebody who is suspended lets them in again.
 */
import type { Kysely, Transaction } from 'kysely'
import type { OrgEvent } from '../../api/rest/org.ts'
import type { Ground } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import { type Role, isWider } from './member-rows.ts'
import { widenMember } from './roles.ts'
import { holdOrganisation } from './organisations.ts'
import type { Schema } from '../db/schema.ts'
import type { Subscriber } from '../events.ts'

type Invite = Schema['organisation_invites']
/** What waits for an account at the mailboxes that it has proven, the oldest first. */
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

/** What became of an account by its invites. */
interface Taken {
  readonly event: Extract<OrgEvent, 'member_joined' | 'member_role_changed'>
  readonly role: Role
}

/**
 * Make an account a member by its invites to one organisation, whose row is held; the invites are used up.
 * @param invites one at least, the oldest first: of several the widest role counts
 * @returns null for who is a member already, with a role that is as wide
 */
export async function takeIn(
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

/** Make an account a member of every organisation that invited one of the mailboxes it has proven. */
async function joinInvited(
  ground: Pick<Ground, 'db' | 'events' | 'now'>,
  account: string,
): Promise<void> {
  const { db, events, now } = ground
  const waiting = await invitesOf(db, account)
  if (waiting.length === 0) return
  const held = [...new Set(waiting.map((one) => one.organisation_id))].sort()
  await events.transaction(async (trx) => {
    for (const organisation of held) await holdOrganisation(trx, organisation)
    await lockAccount(trx, account)
    const at = now()
    // Without those that were used up since; one that came since is for the next time.
    const invites = Map.groupBy(await invitesOf(trx, account), (one) => one.organisation_id)
    const all: [organisation: string, taken: Taken][] = []
    for (const organisation of held) {
      const own = invites.get(organisation)
      const taken = own === undefined ? null : await takeIn(trx, { account, invites: own, at })
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

/** Joins the organisations of an account that signed in or has a new address, after the commit. */
export const joining =
  (
    ground: Pick<Ground, 'db' | 'events' | 'now'>,
  ): Subscriber<'account.signed_in' | 'email.added'> =>
  ({ afterCommit }, { account }) =>
    afterCommit(() => joinInvited(ground, account))
