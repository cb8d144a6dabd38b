/**
 * Members of the organisation that is active for the caller. Whoever is suspended keeps their own account and all that is in it; the
 * organisation is as if they were not there, and a machine account, which is the organisation's own, can do nothing until it is activated.
 */
import type { Transaction } from 'kysely'
import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import type { Service, Session } from '../api/port.ts'
import type { OrgEvent, OrgMember } from '../api/rest/org.ts'
import { isId } from '../crypto/id.ts'
import { AppError } from '../errors.ts'
import { accountAt } from './context.ts'
import { notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import { noteActivities } from './org-activities.ts'
import { takeIn } from './org-joining.ts'
import { managing } from './org-managing.ts'
import {
  type Meant,
  type Member,
  PREFIX,
  inviteResource,
  invites,
  meantBy,
  memberResource,
  members,
  membersBefore,
} from './org-member-rows.ts'
import { demandActing } from './org-standing.ts'
import { pageRows } from './page-rows.ts'
import type { Schema } from './schema.ts'

const refused = (state: 'invited' | 'last_owner', message: string) =>
  new AppError('invalid_state', message, { details: { state } })

const unproven = () =>
  refused(
    'invited',
    'Nobody has proven this mailbox yet: whoever signs in with it is a member from then on, and it takes nothing else.',
  )

const notJoined = () =>
  refused('invited', 'Only who is a member is suspended, and this mailbox was only invited.')

const lastOwner = () =>
  refused(
    'last_owner',
    'This is the last active owner of the organisation: invite another owner, or activate one, first.',
  )

const resource = (meant: Meant): OrgMember =>
  'invite' in meant ? inviteResource(meant.invite) : memberResource(meant.member)

/** Throws AppError `last_owner` where no other person who is active owns the organisation, which is held. */
async function demandAnotherOwner(trx: Transaction<Schema>, member: Member): Promise<void> {
  const other = await members(trx, member.organisation_id)
    .where('role', '=', 'owner')
    .where('state', '=', 'active')
    .where('kind', '=', 'person')
    .where('organisation_members.account_id', '!=', member.account_id)
    .limit(1)
    .executeTakeFirst()
  if (other === undefined) throw lastOwner()
}

/** Throws AppError `forbidden` for an admin who would change an owner. */
function demandOver(by: Role, whom: Role): void {
  if (whom === 'owner' && by !== 'owner')
    throw new AppError('forbidden', 'Only an owner may activate or suspend an owner.')
}

/** A member who is there. */
const memberOf = (trx: Transaction<Schema>, organisation: string, account: string) =>
  members(trx, organisation)
    .where('organisation_members.account_id', '=', account)
    .executeTakeFirstOrThrow()

const setState = (
  trx: Transaction<Schema>,
  { organisation_id, account_id }: Member,
  change: Partial<Pick<Member, 'state' | 'joined_at'>>,
) =>
  trx
    .updateTable('organisation_members')
    .set(change)
    .where('organisation_id', '=', organisation_id)
    .where('account_id', '=', account_id)
    .execute()

type Role = Member['role']

/** What became of whom, as it is written; null where nothing changed. */
interface Move {
  readonly account: string
  readonly event: Extract<OrgEvent, 'member_activated' | 'member_suspended'> | null
}

export const orgMembers = (ground: Ground): Service['orgMembers'] => {
  const { db, now } = ground

  /** Change a member. */
  async function move(
    id: string,
    session: Session,
    work: (trx: Transaction<Schema>, meant: Meant, by: Role) => Promise<Move>,
  ): Promise<OrgMember> {
    const { account: actor } = session
    return managing(db, session, async (trx, { id: organisation, role }) => {
      const meant = await meantBy(trx, organisation, id)
      if (meant === null) throw notFound('member')
      demandOver(role, 'invite' in meant ? meant.invite.role : meant.member.role)
      const { account, event } = await work(trx, meant, role)
      const after = memberResource(await memberOf(trx, organisation, account))
      if (event !== null)
        await noteActivities(trx, organisation, [{ event, actor, target: account }], now(), ground)
      return after
    })
  }

  async function activated(trx: Transaction<Schema>, member: Member): Promise<Move> {
    const { account_id: account, state } = member
    if (state === 'active') return { account, event: null }
    const joined = state === 'invited' ? { joined_at: now() } : {}
    await setState(trx, member, { state: 'active', ...joined })
    return { account, event: 'member_activated' }
  }

  return {
    list: async (page, session) => {
      const { id: organisation } = await demandActing(db, session)
      // Whoever joins in between keeps their place: asked in this order, nobody is missed.
      const invited = await pageRows(invites(db, organisation), page, PREFIX)
      const before = readCursor(page.cursor, (id) => isId(PREFIX, id))
      const joined = await membersBefore(db, organisation, before, rowsFor(page)).execute()
      const all = new Map<string, Meant>([
        ...invited.map((invite) => [invite.id, { invite }] as const),
        ...joined.map((member) => [member.member_id, { member }] as const),
      ])
      const inOrder = [...all]
        .map(([id, meant]) => ({ id, meant }))
        .sort((a, b) => (a.id < b.id ? 1 : -1))
      const { items, next_cursor } = pageOf(inOrder, page)
      return { items: items.map(({ meant }) => resource(meant)), next_cursor }
    },

    read: async ({ id }, session) => {
      const { id: organisation } = await demandActing(db, session)
      const meant = await meantBy(db, organisation, id)
      if (meant === null) throw notFound('member')
      return resource(meant)
    },

    activate: async ({ id }, session) =>
      move(id, session, async (trx, meant, by) => {
        if ('member' in meant) return activated(trx, meant.member)
        const { organisation_id: organisation, email } = meant.invite
        const account = await accountAt(trx, email)
        if (account === null) throw unproven()
        const role = await takeIn(trx, { account, invites: [meant.invite], at: now() })
        if (role !== null) return { account, event: 'member_activated' }
        // In it already, by another mailbox.
        const member = await memberOf(trx, organisation, account)
        demandOver(by, member.role)
        return activated(trx, member)
      }),

    suspend: async ({ id }, session) =>
      move(id, session, async (trx, meant) => {
        if ('invite' in meant || meant.member.state === 'invited') throw notJoined()
        const { member } = meant
        const { account_id: account } = member
        if (member.state === 'suspended') return { account, event: null }
        if (member.role === 'owner') await demandAnotherOwner(trx, member)
        await setState(trx, member, { state: 'suspended' })
        return { account, event: 'member_suspended' }
      }),

    bulkInvite: async (input, session) =>
      (await import('./org-invites.ts')).bulkInvite(ground)(input, session),
  }
}
