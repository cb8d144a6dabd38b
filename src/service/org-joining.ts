/**
 * Joining an organisation: whoever proves a mailbox that it invited is a member from then on. Who is one already stays as they are, so
 * that no further mailbox of somebody who is suspended lets them in again.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Ground } from './ground.ts'
import { holdKeyLog } from './key-logs.ts'
import { type Post, noteActivities } from './org-activities.ts'
import { holdOrganisation } from './organisations.ts'
import type { Schema } from './schema.ts'

type Invite = Schema['organisation_invites']
type Role = Invite['role']

/** From the widest. */
const ROLES: readonly Role[] = ['owner', 'admin', 'member']

/** What waits for an account at the mailboxes that it has proven, the oldest first. */
const invitesOf = (db: Kysely<Schema>, account: string): Promise<Invite[]> =>
  db
    .selectFrom('organisation_invites')
    .selectAll()
    .where('email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
    .orderBy('id')
    .execute()

/**
 * Make an account a member by its invites to one organisation, whose row is held; the invites are used up.
 * @param invites one at least, the oldest first: of several the widest role counts
 * @returns the role; null for who is a member already, and stays as they are
 */
export async function takeIn(
  trx: Transaction<Schema>,
  { account, invites, at }: { account: string; invites: readonly Invite[]; at: number },
): Promise<Role | null> {
  const [widest] = invites.toSorted((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role))
  const { id, organisation_id, role, created_at } = widest as Invite
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
    })
    .onConflict((conflict) => conflict.columns(['organisation_id', 'account_id']).doNothing())
    .executeTakeFirstOrThrow()
  return made === 1n ? role : null
}

/** Make an account a member of every organisation that invited one of the mailboxes it has proven. */
export async function joinInvited(
  ground: Post & Pick<Ground, 'now'>,
  account: string,
): Promise<void> {
  const { db, now } = ground
  const waiting = await invitesOf(db, account)
  if (waiting.length === 0) return
  const held = [...new Set(waiting.map((one) => one.organisation_id))].sort()
  await db.transaction().execute(async (trx) => {
    for (const organisation of held) await holdOrganisation(trx, organisation)
    await holdKeyLog(trx, account)
    const at = now()
    // Without those that were used up since; one that came since is for the next time.
    const invites = Map.groupBy(await invitesOf(trx, account), (one) => one.organisation_id)
    const joined: [organisation: string, role: Role][] = []
    for (const organisation of held) {
      const own = invites.get(organisation)
      const role = own === undefined ? null : await takeIn(trx, { account, invites: own, at })
      if (role !== null) joined.push([organisation, role])
    }
    for (const [organisation, role] of joined) {
      const by = { actor: account, target: account, data: { role } }
      await noteActivities(trx, organisation, [{ event: 'member_joined', ...by }], at, ground)
    }
  })
}
