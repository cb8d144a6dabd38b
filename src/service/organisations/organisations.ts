/** Organisations. A member's role determines what the member may do. */
import type { Kysely, Transaction } from 'kysely'
import type { CallerSession, Service } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { type ActiveOrganisation, activeOrganisation } from '../accounts/active-organisation.ts'
import type { ServiceContext } from '../context.ts'
import { notFound } from '../db/faults.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'
import type { Events } from '../events.ts'

/**
 * Returns the caller's active organisation. Use it for operations that every active member may do.
 * @throws AppError `no_active_organisation`
 */
export async function requireActing(
  db: Kysely<Schema>,
  session: CallerSession,
): Promise<ActiveOrganisation> {
  const active = await activeOrganisation(db, session)
  if (active !== null) return active
  throw new AppError(
    'no_active_organisation',
    'No organisation is active. Choose one first: countersignd org use NAME. An organisation that suspended you cannot be chosen.',
  )
}

/**
 * Returns the caller's active organisation, of which the caller must be an owner or admin.
 * @throws AppError `no_active_organisation`, `forbidden`
 */
async function requireManaging(
  db: Kysely<Schema>,
  session: CallerSession,
): Promise<ActiveOrganisation> {
  const active = await requireActing(db, session)
  if (active.role !== 'member') return active
  throw new AppError(
    'forbidden',
    'Only an owner or admin of the organisation may do this. Ask one of them.',
  )
}

/**
 * Checks that an account is an active owner or admin of the organisation.
 * @throws AppError `not_found` if the account is not a member, `forbidden` for another role or
 *   state
 */
export async function requireManager(
  db: Kysely<Schema>,
  organisation: string,
  account: string,
): Promise<void> {
  const member = await db
    .selectFrom('organisation_members')
    .select(['role', 'state'])
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (member === undefined) throw notFound('organisation')
  if (member.state !== 'active' || member.role === 'member')
    throw new AppError(
      'forbidden',
      'Only an active owner or admin of the organisation may do this. Ask one of them.',
    )
}

/**
 * Locks an organisation until the transaction ends, if it exists. Call this before any of its
 * accounts is locked.
 */
export async function lockOrganisation(
  trx: Transaction<Schema>,
  organisation: string,
): Promise<void> {
  // This update changes nothing. It locks the row in both database engines.
  await trx
    .updateTable('organisations')
    .set((of) => ({ name: of.ref('name') }))
    .where('id', '=', organisation)
    .execute()
}

/**
 * Runs a change that only an owner or admin may make. The caller's active organisation is locked
 * while it runs.
 * @param work receives the caller's active organisation
 * @throws AppError `no_active_organisation`, `forbidden`
 */
export const managing = <T>(
  events: Events,
  session: CallerSession,
  work: (trx: Transaction<Schema>, organisation: ActiveOrganisation) => Promise<T>,
): Promise<T> =>
  events.transaction(async (trx) => {
    const organisation = await requireManaging(trx, session)
    await lockOrganisation(trx, organisation.id)
    // Checked again under the lock, because the caller may have been suspended before it was
    // acquired.
    await requireManager(trx, organisation.id, session.account)
    return work(trx, organisation)
  })

/**
 * Runs a change that every active member may make. The caller's active organisation is locked while
 * it runs.
 * @throws AppError `no_active_organisation`
 */
export const acting = <T>(
  events: Events,
  session: CallerSession,
  work: (trx: Transaction<Schema>, organisation: ActiveOrganisation) => Promise<T>,
): Promise<T> =>
  events.transaction(async (trx) => {
    const organisation = await requireActing(trx, session)
    await lockOrganisation(trx, organisation.id)
    return work(trx, organisation)
  })

/** The maximum number of members of an organisation, including machines and invited mailboxes. */
const MOST_ORGANISATION_MEMBERS = 20_000

/**
 * Checks that an organisation can have `more` additional members. It must be locked.
 * @throws AppError `conflict`
 */
export async function requireRoom(
  trx: Transaction<Schema>,
  organisation: string,
  more: number,
): Promise<void> {
  const counted = (table: 'organisation_members' | 'organisation_invites') =>
    trx
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('organisation_id', '=', organisation)
      .executeTakeFirstOrThrow()
  const [members, invites] = [
    await counted('organisation_members'),
    await counted('organisation_invites'),
  ]
  if (Number(members.count) + Number(invites.count) + more > MOST_ORGANISATION_MEMBERS)
    throw new AppError(
      'conflict',
      `An organisation can have at most ${MOST_ORGANISATION_MEMBERS} members, including machines and invited mailboxes. No member was added.`,
    )
}

/**
 * The maximum number of organisations that one person can create. Organisations of which others
 * made the person an owner do not count.
 */
const MOST_OWNED = 100

/**
 * Checks that an account may create another organisation.
 * @throws AppError `conflict`
 */
async function requireFewerOwned(trx: Transaction<Schema>, account: string): Promise<void> {
  await lockAccount(trx, account)
  const { count } = await trx
    .selectFrom('organisation_members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .where('role', '=', 'owner')
    .where('invited_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(count) >= MOST_OWNED)
    throw new AppError('conflict', `A person can own at most ${MOST_OWNED} organisations.`)
}

export const organisations = ({
  db,
  now,
}: Pick<ServiceContext, 'db' | 'now'>): Service['organisations'] => ({
  create: ({ body }, { account }) =>
    transactionWithMarks(db, async (inside) => {
      const { kind } = await inside
        .selectFrom('accounts')
        .select('kind')
        .where('id', '=', account)
        .executeTakeFirstOrThrow()
      if (kind !== 'person')
        throw new AppError('forbidden', 'Only a person may create an organisation.')
      await requireFewerOwned(inside, account)
      const at = now()
      const id = newId('org_', at)
      const { name } = body
      await inside.insertInto('organisations').values({ id, name, created_at: at }).execute()
      await inside
        .insertInto('organisation_members')
        .values({
          organisation_id: id,
          account_id: account,
          role: 'owner',
          state: 'active',
          joined_at: at,
          member_id: newId('mem_', at),
        })
        .execute()
      markChanged(inside, ['organisations'], { accounts: [account] })
      return { id, name, role: 'owner' as const }
    }),
})
