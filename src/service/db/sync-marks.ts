/**
 * Marks of what a sync reads. Each account has one mark for each part of a sync: a random number
 * that is replaced whenever the part changes. A device with equal marks has nothing to read.
 *
 * A mark is random and not a counter, because a counter could reach the same value twice: after a
 * restore from a backup, or after a standby without the newest transaction became the primary.
 *
 * A transaction collects its changes, and writes all marks in one statement at its end. That
 * statement locks the rows in the order of the account ids, so two transactions never wait for each
 * other's marks. The changes of each account are then announced, for the streams of hints of its
 * devices (`hints/`).
 */
import { randomBytes } from 'node:crypto'
import type { ExpressionBuilder, Kysely, SelectQueryBuilder, Transaction } from 'kysely'
import { SYNC_LISTS, SYNC_PARTS, type SyncPart } from '../../api/device/changes.ts'
import type { Schema } from './schema.ts'

/** The number of bytes of a mark. Numbers in JavaScript are exact up to 6 bytes. */
export const MARK_BYTES = 6

/** The marks of an account. */
export type Marks = Pick<Schema['sync_marks'], 'made_at' | SyncPart>

export const newMark = (): number => randomBytes(MARK_BYTES).readUIntBE(0, MARK_BYTES)

/**
 * Makes the marks of an account that has none. Does nothing if the account does not exist.
 * @param at the time in Unix milliseconds; 0 if the account was made in the same transaction, so
 *   that no change of it is without a mark
 */
export async function makeMarks(db: Kysely<Schema>, account: string, at: number): Promise<void> {
  await db
    .insertInto('sync_marks')
    .columns(['account_id', 'made_at', ...SYNC_PARTS])
    .expression((from) =>
      from
        .selectFrom('accounts')
        .select((of) => [
          'id',
          of.val(at).as('made_at'),
          ...SYNC_PARTS.map((part) => of.val(newMark()).as(part)),
        ])
        .where('id', '=', account),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The mark of a list that has none, in a row of an earlier version. */
export const NO_MARK = 0

/** Makes the marks of lists that an account lacks. */
export async function makeMarksOfLists(db: Kysely<Schema>, account: string): Promise<void> {
  await db
    .updateTable('sync_marks')
    .set((of) =>
      Object.fromEntries(
        SYNC_LISTS.map((list) => [
          list,
          of.case().when(list, '=', NO_MARK).then(of.val(newMark())).else(of.ref(list)).end(),
        ]),
      ),
    )
    .where('account_id', '=', account)
    .execute()
}

/** The accounts for which a part changed. Memberships and cards are read when marks are written. */
interface Audience {
  /** These accounts. */
  readonly accounts?: readonly string[]
  /** The members of these connections. */
  readonly membersOf?: readonly string[]
  /** The members of all connections of these accounts. */
  readonly contactsOf?: readonly string[]
  /** The accounts that follow these accounts. */
  readonly followersOf?: readonly string[]
  /**
   * The accounts in these organisations; of an organisation with more than `MOST_MARKED` accounts,
   * only owners and admins.
   */
  readonly organisations?: readonly string[]
}

/**
 * Otherwise the members of a large organisation, who join one by one, would cause as many syncs as
 * the square of their number. A connection has at most as many members.
 */
const MOST_MARKED = 500

const KINDS = ['accounts', 'membersOf', 'contactsOf', 'followersOf', 'organisations'] as const
type Ids = ReadonlyMap<(typeof KINDS)[number], Set<string>>

/** What a transaction changed for an account. */
export interface Changed {
  readonly account: string
  readonly parts: readonly SyncPart[]
  /** Whether a session of the account may have ended. */
  readonly endsSession: boolean
}

/** Announces changes as soon as the transaction is committed, and not if it is undone. */
export type Announce = (trx: Transaction<Schema>, changes: readonly Changed[]) => Promise<void>

const announcers = new WeakMap<Kysely<Schema>, Announce>()

/** Announces the changes of all later transactions of a database. */
export const announceChanges = (db: Kysely<Schema>, announce: Announce): void =>
  void announcers.set(db, announce)

/** What a transaction has collected. */
interface Collected {
  readonly parts: Map<SyncPart, Ids>
  /** The accounts of which a session may have ended. */
  readonly ended: Set<string>
  readonly announce: Announce | undefined
}

const collected = new WeakMap<Transaction<Schema>, Collected>()

/**
 * Returns what a transaction has collected.
 * @param trx a transaction that was started by `transactionWithMarks`
 */
function collectedBy(trx: Transaction<Schema>): Collected {
  const all = collected.get(trx)
  if (all === undefined)
    throw new Error('Record this change in a transaction of transactionWithMarks().')
  return all
}

const noIds = (): Ids => new Map(KINDS.map((kind) => [kind, new Set<string>()]))

function add(to: Ids, audience: Audience): void {
  for (const kind of KINDS) for (const id of audience[kind] ?? []) to.get(kind)?.add(id)
}

/**
 * Records that parts changed for an audience.
 * @param trx a transaction that was started by `transactionWithMarks`
 */
export function markChanged(
  trx: Transaction<Schema>,
  parts: readonly SyncPart[],
  audience: Audience,
): void {
  const all = collectedBy(trx)
  if (KINDS.every((kind) => (audience[kind] ?? []).length === 0)) return
  for (const part of parts) {
    const ids = all.parts.get(part) ?? noIds()
    add(ids, audience)
    all.parts.set(part, ids)
  }
}

/**
 * Records that a session of an account may have ended, so that its stream of hints is closed.
 * @param trx a transaction that was started by `transactionWithMarks`
 */
export function markSessionEnded(trx: Transaction<Schema>, account: string): void {
  collectedBy(trx).ended.add(account)
}

/** Runs a transaction in which `markChanged` may be called. */
export const transactionWithMarks = <R>(
  db: Kysely<Schema>,
  work: (trx: Transaction<Schema>) => Promise<R>,
): Promise<R> =>
  db.transaction().execute(async (trx) => {
    collected.set(trx, { parts: new Map(), ended: new Set(), announce: announcers.get(db) })
    const result = await work(trx)
    await writeMarks(trx)
    return result
  })

type OfMarks = ExpressionBuilder<Schema, 'sync_marks'>
/** A subquery that selects account ids. */
type Selected = SelectQueryBuilder<Schema, keyof Schema, { account_id: string }>

/** Returns subqueries that select the account ids of an audience. */
function selects(of: OfMarks, ids: Ids): Selected[] {
  const [accounts, connections, contacts, followed, organisations] = KINDS.map((kind) => [
    ...ids.get(kind)!,
  ])
  const some = (list: readonly string[] | undefined, make: (list: readonly string[]) => object) =>
    // The query builder's types name the tables of a subquery, which differ here.
    list === undefined || list.length === 0 ? [] : [make(list) as Selected]
  return [
    ...some(accounts, (list) =>
      of
        .selectFrom('accounts')
        .select('accounts.id as account_id')
        .where('accounts.id', 'in', list),
    ),
    ...some(connections, (list) =>
      of
        .selectFrom('memberships')
        .select('memberships.account_id')
        .where('memberships.connection_id', 'in', list),
    ),
    ...some(contacts, (list) =>
      of
        .selectFrom('memberships as theirs')
        .innerJoin('memberships as own', 'own.connection_id', 'theirs.connection_id')
        .select('theirs.account_id')
        .where('own.account_id', 'in', list),
    ),
    ...some(followed, (list) =>
      of
        .selectFrom('trust_cards')
        .select('trust_cards.account_id')
        .where('trust_cards.watched_id', 'in', list),
    ),
    ...some(organisations, (list) =>
      of
        .selectFrom('organisation_members')
        .select('organisation_members.account_id')
        .where('organisation_members.organisation_id', 'in', list)
        .where((member) =>
          member.or([
            member('organisation_members.role', '!=', 'member'),
            member('organisation_members.organisation_id', 'not in', (query) =>
              query
                .selectFrom('organisation_members as counted')
                .select('counted.organisation_id')
                .where('counted.organisation_id', 'in', list)
                .groupBy('counted.organisation_id')
                .having(({ fn }) => fn.countAll(), '>', MOST_MARKED),
            ),
          ]),
        ),
    ),
  ]
}

/** Returns a condition for the marks of an audience's accounts. */
function isIn(of: OfMarks, ids: Ids) {
  const [first, ...others] = selects(of, ids)
  return of(
    'account_id',
    'in',
    others.reduce((all, one) => all.union(one), first!),
  )
}

/** Checks whether a part of an audience is the whole audience. */
const isWhole = (ids: Ids, whole: Ids) =>
  KINDS.every((kind) => ids.get(kind)!.size === whole.get(kind)!.size)

/**
 * Writes the marks of the changes that the transaction has collected, and announces the changes.
 * `transactionWithMarks` calls this at the end. Call it earlier only before an account is deleted,
 * so that the marks are locked in their order.
 */
export async function writeMarks(trx: Transaction<Schema>): Promise<void> {
  const { parts, ended, announce } = collectedBy(trx)
  const changes = await marked(trx, parts)
  for (const account of ended) changes.push({ account, parts: [], endsSession: true })
  parts.clear()
  ended.clear()
  if (changes.length > 0) await announce?.(trx, changes)
}

/** Replaces the marks of changed parts. Returns which parts changed for each account. */
async function marked(
  trx: Transaction<Schema>,
  changes: ReadonlyMap<SyncPart, Ids>,
): Promise<Changed[]> {
  if (changes.size === 0) return []
  const whole = noIds()
  for (const ids of changes.values())
    add(whole, Object.fromEntries([...ids].map(([kind, some]) => [kind, [...some]])))
  const mark = newMark()
  const parts = SYNC_PARTS.filter((part) => changes.has(part))
  const rows = await trx
    .with('held', (query) =>
      query
        .selectFrom('sync_marks')
        .select('account_id')
        .where((of) => isIn(of, whole))
        .orderBy('account_id')
        .forUpdate(),
    )
    .updateTable('sync_marks')
    .set((of) =>
      Object.fromEntries(
        parts.map((part) => {
          const ids = changes.get(part)!
          const value = isWhole(ids, whole)
            ? of.val(mark)
            : of
                .case()
                .when(isIn(of as unknown as OfMarks, ids))
                .then(of.val(mark))
                .else(of.ref(part))
                .end()
          return [part, value]
        }),
      ),
    )
    .where('account_id', 'in', (of) => of.selectFrom('held').select('held.account_id'))
    .returning(['account_id', ...parts])
    .execute()
  return rows.map((row) => ({
    account: row.account_id,
    parts: parts.filter((part) => row[part] === mark),
    endsSession: false,
  }))
}
