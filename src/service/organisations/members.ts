/**
 * The members of the caller's active organisation. A suspended member keeps the account and its
 * data, but has no access to the organisation. A suspended machine account cannot be used at all. A
 * suspended invitation cannot be used to join.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf, readCursor, rowsFor } from '../../api/cursor.ts'
import type { Service } from '../../api/port.ts'
import type { OrgEvent, OrgMember } from '../../api/rest/org.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import type { ActiveOrganisation } from '../accounts/active-organisation.ts'
import { accountAt } from '../accounts/account-record.ts'
import { notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { joinByInvites } from './joining.ts'
import {
  type Invite,
  invites,
  type Meant,
  meantBy,
  membersBefore,
  ORGANISATION_MEMBER_PREFIX,
  type OrganisationMemberRow,
  resourcesOf,
  type Role,
  roleOf,
  selectMembers,
} from './member-rows.ts'
import { acting, managing, requireActing } from './organisations.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { markSessionEnded } from '../db/sync-marks.ts'

const refused = (state: 'invited' | 'last_owner', message: string) =>
  new AppError('invalid_state', message, { details: { state } })

const unproven = () =>
  refused(
    'invited',
    'No account has confirmed this mailbox yet. The person who signs in with it becomes a member at once. No other step is needed.',
  )

const lastOwner = () =>
  refused(
    'last_owner',
    'This is the last active owner of the organisation. First invite another owner, or activate one.',
  )

/**
 * Checks that another active person is an owner. The organisation must be locked.
 * @throws AppError `invalid_state` (`last_owner`)
 */
async function requireAnotherOwner(
  trx: Transaction<Schema>,
  member: OrganisationMemberRow,
): Promise<void> {
  const other = await selectMembers(trx, member.organisation_id)
    .where('role', '=', 'owner')
    .where('state', '=', 'active')
    .where('kind', '=', 'person')
    .where('organisation_members.account_id', '!=', member.account_id)
    .limit(1)
    .executeTakeFirst()
  if (other === undefined) throw lastOwner()
}

/**
 * Checks that the caller may change a member with the role `whom`. Only an owner may change an
 * owner.
 * @throws AppError `forbidden` for an admin
 */
function requireOver(by: Role, whom: Role): void {
  if (whom === 'owner' && by !== 'owner')
    throw new AppError('forbidden', 'Only an owner may activate or suspend an owner.')
}

const setState = (
  trx: Transaction<Schema>,
  { organisation_id, account_id }: OrganisationMemberRow,
  change: Partial<Pick<OrganisationMemberRow, 'state' | 'joined_at'>>,
) =>
  trx
    .updateTable('organisation_members')
    .set(change)
    .where('organisation_id', '=', organisation_id)
    .where('account_id', '=', account_id)
    .execute()

/** Sets an invitation's state. Returns false if it already has that state. */
async function setInvite(
  trx: Transaction<Schema>,
  { id }: Invite,
  state: Invite['state'],
): Promise<boolean> {
  const { numUpdatedRows: set } = await trx
    .updateTable('organisation_invites')
    .set({ state })
    .where('id', '=', id)
    .where('state', '!=', state)
    .executeTakeFirst()
  return set === 1n
}

type Event = Extract<
  OrgEvent,
  'member_joined' | 'member_activated' | 'member_suspended' | 'member_role_changed'
>

/** The account or invitation that a change affected. `event` is null if nothing changed. */
interface Move {
  readonly id: string
  readonly event: Event | null
}

export const orgMembers = (ground: ServiceContext): Service['orgMembers'] => {
  const { db, events, now } = ground

  /**
   * Returns the member or invitation with an id.
   * @throws AppError `not_found`
   */
  async function requireMeant(from: Kysely<Schema>, organisation: string, id: string) {
    const meant = await meantBy(from, organisation, id)
    if (meant === null) throw notFound('member')
    return meant
  }

  /** Changes a member or an invitation. */
  async function move(
    trx: Transaction<Schema>,
    organisation: ActiveOrganisation,
    of: { id: string; actor: string; work: (meant: Meant) => Promise<Move> },
  ): Promise<OrgMember> {
    const { id: wanted, actor, work } = of
    const { id: target, event } = await work(await requireMeant(trx, organisation.id, wanted))
    const after = await requireMeant(trx, organisation.id, target)
    const [resource] = await resourcesOf(trx, organisation.id, [after])
    if (event === null) return resource!
    await events.publish(trx, {
      type: 'organisation.member_changed',
      change: event,
      organisation,
      actor,
      target,
      role: roleOf(after),
      isNotified: 'member' in after && after.member.kind === 'person' && target !== actor,
      at: now(),
    })
    return resource!
  }

  async function activated(trx: Transaction<Schema>, member: OrganisationMemberRow): Promise<Move> {
    const { account_id: id, state } = member
    if (state === 'active') return { id, event: null }
    const joined = state === 'invited' ? { joined_at: now() } : {}
    await setState(trx, member, { state: 'active', ...joined })
    return { id, event: 'member_activated' }
  }

  /**
   * Makes the account with the invited mailbox a member. If no account has confirmed the mailbox, a
   * suspended invitation becomes valid again.
   */
  async function admitted(trx: Transaction<Schema>, invite: Invite, by: Role): Promise<Move> {
    const id = await accountAt(trx, invite.email)
    if (id === null) {
      if (await setInvite(trx, invite, 'invited'))
        return { id: invite.id, event: 'member_activated' }
      throw unproven()
    }
    const taken = await joinByInvites(trx, { account: id, invites: [invite], at: now() })
    if (taken?.event === 'member_joined') return { id, event: taken.event }
    // The account is already a member, through another mailbox.
    const meant = await requireMeant(trx, invite.organisation_id, id)
    requireOver(by, roleOf(meant))
    const { event } = await activated(trx, (meant as { member: OrganisationMemberRow }).member)
    return { id, event: event ?? taken?.event ?? null }
  }

  async function suspended(trx: Transaction<Schema>, meant: Meant): Promise<Move> {
    if ('invite' in meant) {
      const { invite } = meant
      const isSet = await setInvite(trx, invite, 'suspended')
      return { id: invite.id, event: isSet ? 'member_suspended' : null }
    }
    const { member } = meant
    const { account_id: id } = member
    if (member.state === 'suspended') return { id, event: null }
    if (member.role === 'owner') await requireAnotherOwner(trx, member)
    await setState(trx, member, { state: 'suspended' })
    // A suspended machine account cannot be used at all.
    markSessionEnded(trx, id)
    return { id, event: 'member_suspended' }
  }

  return {
    list: async ({ state, ...page }, session) => {
      const { id: organisation } = await requireActing(db, session)
      // Invitations are read before members. A mailbox that joins between the queries keeps its
      // position, so it is not missed.
      const invited = await pageRows(
        invites(db, organisation).$if(state !== undefined, (query) =>
          // The state `active` finds no invitation, because an invited mailbox becomes a member
          // when its account joins.
          query.where('state', '=', state as Invite['state']),
        ),
        page,
        ORGANISATION_MEMBER_PREFIX,
      )
      const before = readCursor(page.cursor, (id) => isId(ORGANISATION_MEMBER_PREFIX, id))
      const joined = await membersBefore(db, organisation, before, rowsFor(page), state).execute()
      const all = new Map<string, Meant>([
        ...invited.map((invite) => [invite.id, { invite }] as const),
        ...joined.map((member) => [member.member_id, { member }] as const),
      ])
      const inOrder = [...all]
        .map(([id, meant]) => ({ id, meant }))
        .sort((a, b) => (a.id < b.id ? 1 : -1))
      const { items, next_cursor } = pageOf(inOrder, page)
      const shown = items.map(({ meant }) => meant)
      return { items: await resourcesOf(db, organisation, shown), next_cursor }
    },

    read: async ({ id }, session) => {
      const { id: organisation } = await requireActing(db, session)
      const [resource] = await resourcesOf(db, organisation, [
        await requireMeant(db, organisation, id),
      ])
      return resource!
    },

    activate: ({ id }, session) =>
      managing(events, session, (trx, organisation) => {
        const { role: by } = organisation
        const work = async (meant: Meant) => {
          requireOver(by, roleOf(meant))
          return 'member' in meant ? activated(trx, meant.member) : admitted(trx, meant.invite, by)
        }
        return move(trx, organisation, { id, actor: session.account, work })
      }),

    suspend: ({ id }, session) => {
      const { account: actor } = session
      // Every member may suspend their own membership.
      const within = id === actor ? acting : managing
      return within(events, session, (trx, organisation) => {
        const work = async (meant: Meant) => {
          requireOver(organisation.role, roleOf(meant))
          return suspended(trx, meant)
        }
        return move(trx, organisation, { id, actor, work })
      })
    },

    bulkInvite: async (input, session) =>
      (await import('./invites.ts')).bulkInvite(ground)(input, session),
  }
}
