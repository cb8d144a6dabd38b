/**
 * Members of the organisation that is active for the caller. Whoever is suspended keeps their own account and all that is in it; the
 * organisation is as if they were not there, and a machine account, which is the organisation's own, can do nothing until it is activated.
 * Nobody joins by an invitation that is suspended.
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
import type { Ground } from '../context.ts'
import { takeIn } from './joining.ts'
import { acting, managing } from './managing.ts'
import {
  type Invite,
  type Meant,
  type Member,
  PREFIX,
  type Role,
  invites,
  meantBy,
  members,
  membersBefore,
  resourcesOf,
  roleOf,
} from './member-rows.ts'
import { demandActing } from './access-level.ts'
import { pageRows } from '../db/page-rows.ts'
import type { Schema } from '../db/schema.ts'

const refused = (state: 'invited' | 'last_owner', message: string) =>
  new AppError('invalid_state', message, { details: { state } })

const unproven = () =>
  refused(
    'invited',
    'Nobody has proven this mailbox yet: whoever signs in with it is a member from then on, and it takes nothing else.',
  )

const lastOwner = () =>
  refused(
    'last_owner',
    'This is the last active owner of the organisation: invite another owner, or activate one, first.',
  )

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

/** Say whether somebody may join by an invitation. Answers false for one that says so already. */
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

/** What became of whom: an account, or a mailbox that is only invited; null where nothing did. */
interface Move {
  readonly id: string
  readonly event: Event | null
}

export const orgMembers = (ground: Ground): Service['orgMembers'] => {
  const { db, events, now } = ground

  /** Whom an id names. Throws AppError `not_found`. */
  async function demandMeant(from: Kysely<Schema>, organisation: string, id: string) {
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
    const { id: target, event } = await work(await demandMeant(trx, organisation.id, wanted))
    const after = await demandMeant(trx, organisation.id, target)
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

  async function activated(trx: Transaction<Schema>, member: Member): Promise<Move> {
    const { account_id: id, state } = member
    if (state === 'active') return { id, event: null }
    const joined = state === 'invited' ? { joined_at: now() } : {}
    await setState(trx, member, { state: 'active', ...joined })
    return { id, event: 'member_activated' }
  }

  /** Whoever has proven the mailbox is taken in; else it waits again. */
  async function admitted(trx: Transaction<Schema>, invite: Invite, by: Role): Promise<Move> {
    const id = await accountAt(trx, invite.email)
    if (id === null) {
      if (await setInvite(trx, invite, 'invited'))
        return { id: invite.id, event: 'member_activated' }
      throw unproven()
    }
    const taken = await takeIn(trx, { account: id, invites: [invite], at: now() })
    if (taken?.event === 'member_joined') return { id, event: taken.event }
    // In it already, by another mailbox.
    const meant = await demandMeant(trx, invite.organisation_id, id)
    demandOver(by, roleOf(meant))
    const { event } = await activated(trx, (meant as { member: Member }).member)
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
    if (member.role === 'owner') await demandAnotherOwner(trx, member)
    await setState(trx, member, { state: 'suspended' })
    return { id, event: 'member_suspended' }
  }

  return {
    list: async ({ state, ...page }, session) => {
      const { id: organisation } = await demandActing(db, session)
      // Whoever joins in between keeps their place: asked in this order, nobody is missed.
      const invited = await pageRows(
        invites(db, organisation).$if(state !== undefined, (query) =>
          // None is active: a mailbox is a member once an account joins by it.
          query.where('state', '=', state as Invite['state']),
        ),
        page,
        PREFIX,
      )
      const before = readCursor(page.cursor, (id) => isId(PREFIX, id))
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
      const { id: organisation } = await demandActing(db, session)
      const [resource] = await resourcesOf(db, organisation, [
        await demandMeant(db, organisation, id),
      ])
      return resource!
    },

    activate: ({ id }, session) =>
      managing(events, session, (trx, organisation) => {
        const { role: by } = organisation
        const work = async (meant: Meant) => {
          demandOver(by, roleOf(meant))
          return 'member' in meant ? activated(trx, meant.member) : admitted(trx, meant.invite, by)
        }
        return move(trx, organisation, { id, actor: session.account, work })
      }),

    suspend: ({ id }, session) => {
      const { account: actor } = session
      // Nobody has to stay where they were taken in.
      const within = id === actor ? acting : managing
      return within(events, session, (trx, organisation) => {
        const work = async (meant: Meant) => {
          demandOver(organisation.role, roleOf(meant))
          return suspended(trx, meant)
        }
        return move(trx, organisation, { id, actor, work })
      })
    },

    bulkInvite: async (input, session) =>
      (await import('./invites.ts')).bulkInvite(ground)(input, session),
  }
}
