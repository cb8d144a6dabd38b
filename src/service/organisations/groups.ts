/**
 * Groups of an organisation's members. A member who leaves the organisation also leaves its groups.
 * A suspended member stays in the groups.
 */
import type { Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { OrgEvent, OrgGroup } from '../../api/rest/org.ts'
import { newId } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { collection } from '../db/collections.ts'
import { accountIdsOf } from '../devices/machines.ts'
import { strangersAmong } from './member-rows.ts'
import { markOrganisation } from './organisation-marks.ts'
import { managing, requireActing } from './organisations.ts'
import type { Schema } from '../db/schema.ts'

const GROUP_PREFIX = 'grp_'

const groups = collection({
  prefix: GROUP_PREFIX,
  what: 'group',
  owner: 'organisation',
  most: 1000,
  select: (db, organisation) =>
    db
      .selectFrom('organisation_groups')
      .select(['id', 'name', 'description', 'created_at'])
      .select((of) =>
        of
          .selectFrom('organisation_group_members')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .whereRef('group_id', '=', 'organisation_groups.id')
          .as('member_count'),
      )
      .where('organisation_id', '=', organisation),
  resources: (rows) =>
    rows.map(({ member_count, created_at, ...row }): OrgGroup => ({
      ...row,
      member_count: Number(member_count),
      created_at: timeAt(created_at),
    })),
})

/**
 * Returns the ids of the accounts that a request names, each once.
 * @throws AppError `validation_failed`, with an issue for each id that is not a member's
 */
async function requireMembers(
  trx: Transaction<Schema>,
  organisation: string,
  named: readonly string[],
): Promise<string[]> {
  const ids = await accountIdsOf(trx, named)
  const issues = await strangersAmong(trx, organisation, { path: 'member_ids', ids })
  if (issues.length > 0) throw invalid('body', issues)
  return [...new Set(ids)]
}

/** Adds accounts to a group. Returns how many were not in it before. */
async function add(
  trx: Transaction<Schema>,
  of: { organisation: string; group: string; accounts: readonly string[] },
): Promise<number> {
  const { numInsertedOrUpdatedRows: added } = await trx
    .insertInto('organisation_group_members')
    .values(
      of.accounts.map((account_id) => ({
        group_id: of.group,
        organisation_id: of.organisation,
        account_id,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (added !== 0n) markOrganisation(trx, of.organisation, of.accounts)
  return Number(added)
}

/** Removes accounts from a group. Returns how many were in it before. */
async function remove(
  trx: Transaction<Schema>,
  of: { organisation: string; group: string; accounts: readonly string[] },
): Promise<number> {
  const { numDeletedRows: removed } = await trx
    .deleteFrom('organisation_group_members')
    .where('group_id', '=', of.group)
    .where('account_id', 'in', of.accounts)
    .executeTakeFirst()
  if (removed > 0n) markOrganisation(trx, of.organisation, of.accounts)
  return Number(removed)
}

export const orgGroups = (ground: ServiceContext): Service['orgGroups'] => {
  const { db, events, now } = ground

  const publish = (
    trx: Transaction<Schema>,
    organisation: string,
    of: { event: OrgEvent; actor: string; group: Pick<OrgGroup, 'id' | 'name'>; count?: number },
  ): Promise<void> => {
    const { event, actor, group, count } = of
    const data = { name: group.name, ...(count === undefined ? {} : { count: String(count) }) }
    const { id: target } = group
    return events.publish(trx, {
      type: 'organisation.group',
      organisation,
      change: event,
      actor,
      target,
      data,
      at: now(),
    })
  }

  return {
    list: async (page, session) => {
      const { id: organisation } = await requireActing(db, session)
      return groups.list(db, organisation, page)
    },

    create: ({ body: { name, description = null } }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        await groups.requireRoomFor(trx, organisation, name)
        const at = now()
        const id = newId(GROUP_PREFIX, at)
        await trx
          .insertInto('organisation_groups')
          .values({ id, organisation_id: organisation, name, description, created_at: at })
          .execute()
        const actor = session.account
        await publish(trx, organisation, { event: 'group_created', actor, group: { id, name } })
        return groups.read(trx, organisation, id)
      }),

    update: ({ id, body }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        const before = await groups.read(trx, organisation, id)
        const { name = before.name, description = before.description } = body
        if (name === before.name && description === before.description) return before
        await groups.requireNewName(trx, organisation, name, id)
        await trx
          .updateTable('organisation_groups')
          .set({ name, description })
          .where('id', '=', id)
          .execute()
        const actor = session.account
        await publish(trx, organisation, { event: 'group_updated', actor, group: { id, name } })
        return { ...before, name, description }
      }),

    delete: ({ id }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        const group = await groups.read(trx, organisation, id)
        await trx.deleteFrom('organisation_groups').where('id', '=', id).execute()
        await publish(trx, organisation, { event: 'group_deleted', actor: session.account, group })
      }),

    addMembers: ({ id, body }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        const group = await groups.read(trx, organisation, id)
        const accounts = await requireMembers(trx, organisation, body.member_ids)
        const count = await add(trx, { organisation, group: id, accounts })
        if (count === 0) return group
        const actor = session.account
        await publish(trx, organisation, { event: 'group_members_added', actor, group, count })
        return groups.read(trx, organisation, id)
      }),

    removeMembers: ({ id, body }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        const group = await groups.read(trx, organisation, id)
        const accounts = await requireMembers(trx, organisation, body.member_ids)
        const count = await remove(trx, { organisation, group: id, accounts })
        if (count === 0) return group
        const actor = session.account
        await publish(trx, organisation, { event: 'group_members_removed', actor, group, count })
        return groups.read(trx, organisation, id)
      }),
  }
}
