/**
 * Invites many mailboxes to an organisation at once. Each is judged separately, and all changes
 * are stored in one transaction. The mailbox of an account looks the same as one without an
 * account, unless that account is in the organisation already.
 */
import type { Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import { MOST_INVITES, type OrgMember } from '../../api/rest/org.ts'
import { isId, newId } from '../../crypto/encoding/id.ts'
import type { ActiveOrganisation } from '../accounts/active-organisation.ts'
import type { ServiceContext } from '../context.ts'
import { managing } from './managing.ts'
import {
  type Invite,
  type Meant,
  ORGANISATION_MEMBER_PREFIX,
  type Role,
  invites as rows,
  selectMembers,
  resourcesOf,
} from './member-rows.ts'
import { changeInvite, widenMember } from './roles.ts'
import { type Accounts, accountsAt, inviteeMailbox, judge, waitingAt } from './invite-verdicts.ts'
import { requireRoom } from './organisations.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const HOUR_MS = 3_600_000

const INVITED: Brake = {
  what: 'org invite',
  most: 20 * MOST_INVITES,
  periodMs: HOUR_MS,
  told: `Too many people were invited: ${20 * MOST_INVITES} an hour is the most. No one in this request was.`,
}

type Answer = Awaited<ReturnType<Service['orgMembers']['bulkInvite']>>

/** Stores invitations. */
async function keep(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  of: {
    by: { account: string; organisation: ActiveOrganisation }
    made: readonly Invite[]
    accounts: Accounts
    at: number
  },
): Promise<void> {
  const { by, made, accounts, at } = of
  const { account: actor, organisation } = by
  await requireRoom(trx, organisation.id, made.length)
  await countTryIn(trx, actor, INVITED, at, '', made.length)
  await trx.insertInto('organisation_invites').values(made).execute()
  const invites = made.map(({ id, email, role }) => {
    const known = accounts.get(email)
    const wantsMail = known?.email_notifications !== 0
    return { id, email, role, account: known?.account ?? null, wantsMail }
  })
  await events.publish(trx, { type: 'organisation.invited', organisation, actor, invites, at })
}

/** Gives members and invitations wider roles. */
async function widen(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  of: {
    by: { account: string; organisation: ActiveOrganisation }
    wider: readonly { id: string; role: Role }[]
    at: number
  },
): Promise<void> {
  const { by, at } = of
  const { account: actor, organisation } = by
  const wider = of.wider.map((one) => ({
    ...one,
    isMember: !isId(ORGANISATION_MEMBER_PREFIX, one.id),
  }))
  await countTryIn(trx, actor, INVITED, at, '', wider.length)
  for (const { id, role, isMember } of wider)
    if (isMember) await widenMember(trx, { organisation: organisation.id, account: id, role })
    else await changeInvite(trx, { id, role })
  await events.publish(trx, { type: 'organisation.roles_widened', organisation, actor, wider, at })
}

/** Returns members and invitations by their ids, in order. */
async function resourcesBy(
  trx: Transaction<Schema>,
  organisation: string,
  ids: readonly string[],
): Promise<OrgMember[]> {
  if (ids.length === 0) return []
  const invites = await rows(trx, organisation).where('id', 'in', ids).execute()
  const joined = await selectMembers(trx, organisation)
    .where('organisation_members.account_id', 'in', ids)
    .execute()
  const meant = new Map<string, Meant>([
    ...invites.map((invite) => [invite.id, { invite }] as const),
    ...joined.map((member) => [member.account_id, { member }] as const),
  ])
  return resourcesOf(
    trx,
    organisation,
    ids.map((id) => meant.get(id)!),
  )
}

/**
 * Invites mailboxes to the organisation that is active for the caller. A mailbox that is a member
 * or invited already, with a narrower role, gets the wider one.
 */
export const bulkInvite =
  (ground: ServiceContext): Service['orgMembers']['bulkInvite'] =>
  async ({ body: { invites: asked } }, session) => {
    const { events, now } = ground
    return managing(events, session, async (trx, organisation) => {
      const addresses = [...new Set(asked.map(inviteeMailbox))]
      const accounts = await accountsAt(trx, organisation.id, addresses)
      const waiting = await waitingAt(trx, organisation.id, addresses)
      const at = now()
      const made: Invite[] = []
      const wider: { id: string; role: Role }[] = []
      const skipped: Answer['skipped'] = []
      const ids: string[] = []
      const verdicts = judge(asked, { by: organisation.role, accounts, waiting })
      for (const [i, one] of asked.entries()) {
        const verdict = verdicts[i]!
        if ('reason' in verdict) {
          skipped.push({ email: one.email, reason: verdict.reason })
          continue
        }
        const id = verdict.widens ?? newId(ORGANISATION_MEMBER_PREFIX, at)
        ids.push(id)
        if (verdict.widens !== null) wider.push({ id, role: one.role })
        else
          made.push({
            id,
            organisation_id: organisation.id,
            email: inviteeMailbox(one),
            role: one.role,
            state: 'invited',
            created_at: at,
          })
      }
      const by = { account: session.account, organisation }
      if (wider.length > 0) await widen(trx, ground, { by, wider, at })
      if (made.length > 0) await keep(trx, ground, { by, made, accounts, at })
      return { invited: await resourcesBy(trx, organisation.id, ids), skipped }
    })
  }
