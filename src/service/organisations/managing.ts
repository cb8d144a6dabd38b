/**
 * Serialises changes to an organisation: limits and unique names are still true when the change
 * is stored.
 */
import type { Transaction } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import type { Issue } from '../../errors.ts'
import type { ActiveOrganisation } from '../accounts/active-organisation.ts'
import { ORGANISATION_MEMBER_PREFIX as MEMBER } from './member-rows.ts'
import { requireActing, requireManaging } from './access-level.ts'
import { requireManager, holdOrganisation } from './organisations.ts'
import type { Schema } from '../db/schema.ts'
import type { Events } from '../events.ts'

/**
 * Runs a change in a transaction while the caller's active organisation is locked.
 * @param work receives that organisation
 * @throws AppError `no_active_organisation`, `forbidden`
 */
export const managing = <T>(
  events: Events,
  session: CallerSession,
  work: (trx: Transaction<Schema>, organisation: ActiveOrganisation) => Promise<T>,
): Promise<T> =>
  events.transaction(async (trx) => {
    const organisation = await requireManaging(trx, session)
    await holdOrganisation(trx, organisation.id)
    // The caller may have been suspended meanwhile.
    await requireManager(trx, organisation.id, session.account)
    return work(trx, organisation)
  })

/**
 * Runs a change that any active member may make, while the organisation is locked.
 * @throws AppError `no_active_organisation`
 */
export const acting = <T>(
  events: Events,
  session: CallerSession,
  work: (trx: Transaction<Schema>, organisation: ActiveOrganisation) => Promise<T>,
): Promise<T> =>
  events.transaction(async (trx) => {
    const organisation = await requireActing(trx, session)
    await holdOrganisation(trx, organisation.id)
    return work(trx, organisation)
  })

/** The most issues in one error, as in other validation errors. */
const MOST_ISSUES = 20

/**
 * Returns the issues for ids in a body that are not of accounts in an organisation. Suspended
 * members are allowed.
 * @param of `path`: the name of the list
 */
export async function strangersAmong(
  trx: Transaction<Schema>,
  organisation: string,
  { path, ids }: { path: string; ids: readonly string[] },
): Promise<Issue[]> {
  const accounts = ids.filter((id) => isId(ID_PREFIX.account, id) || isId(ID_PREFIX.machine, id))
  const rows =
    accounts.length === 0
      ? []
      : await trx
          .selectFrom('organisation_members')
          .select('account_id')
          .where('organisation_id', '=', organisation)
          .where('account_id', 'in', accounts)
          .where('state', 'in', ['active', 'suspended'])
          .execute()
  const known = new Set(rows.map(({ account_id }) => account_id))
  const messageOf = (id: string) =>
    isId(MEMBER, id)
      ? 'This names an invitation. Name the member by account id (acc_…) after they have joined.'
      : 'No member of the organisation has this id: GET /api/v1/org/members ("countersignd org members") lists them.'
  return ids
    .flatMap((id, i) => (known.has(id) ? [] : [{ path: `${path}.${i}`, message: messageOf(id) }]))
    .slice(0, MOST_ISSUES)
}
