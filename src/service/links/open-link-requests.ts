/**
 * Requests at open links, as their owner sees and answers them. Unconfirmed requests are not
 * visible. A device approves a request by opening a connection. One transaction stores the approval
 * and the connection.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { OpenLinkRequest } from '../../api/rest/open-links.ts'
import { AppError } from '../../errors.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import type { Subscriber } from '../events.ts'
import { keepNewest, pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'

export const OPEN_LINK_REQUEST_PREFIX = 'req_'

type State = OpenLinkRequest['state']
type Row = Schema['open_link_requests'] & { state: State }

const ANSWERED: Readonly<Record<Exclude<State, 'pending'>, string>> = {
  approved: 'This request was approved and has become a connection. End that connection instead.',
  declined: 'This request was declined. The person who asked may ask again.',
}

/** Returns the error for a request that already has another answer. */
const answered = (state: Exclude<State, 'pending'>) =>
  new AppError('invalid_state', ANSWERED[state], { details: { state } })

/** Selects the requests that an account can see. */
const requestsOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('open_link_requests')
    .selectAll()
    .where('account_id', '=', account)
    .where('state', '!=', 'unconfirmed')
    .$narrowType<{ state: State }>()

const resource = (row: Row): OpenLinkRequest => ({
  id: row.id,
  open_link_id: row.open_link_id,
  requester: { display_name: row.display_name, email: row.email },
  message: row.message,
  state: row.state,
  connection_id: row.connection_id,
  created_at: timeAt(row.created_at),
})

/** Returns a request. Throws AppError `not_found`. */
async function read(db: Kysely<Schema>, account: string, id: string): Promise<OpenLinkRequest> {
  requireId(OPEN_LINK_REQUEST_PREFIX, id, 'request')
  const row = await requestsOf(db, account).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw notFound('request')
  return resource(row)
}

/** Answers a pending request. Returns false if another answer was stored first. */
async function settle(
  trx: Transaction<Schema>,
  of: { id: string; account: string },
  set: { state: 'approved' | 'declined'; connection_id?: string },
): Promise<boolean> {
  const { numUpdatedRows: settled } = await trx
    .updateTable('open_link_requests')
    .set(set)
    .where('id', '=', of.id)
    .where('account_id', '=', of.account)
    .where('state', '=', 'pending')
    .executeTakeFirst()
  if (settled !== 1n) return false
  markChanged(trx, ['open_link_requests'], { accounts: [of.account] })
  const only = { column: 'state', values: ['approved', 'declined'] } as const
  await keepNewest(trx, 'open_link_requests', of.account, MOST_ANSWERED, only)
  return true
}

/** How many requests one statement deletes, at most. */
const DELETED = 1000

/**
 * Deletes requests that were not confirmed in time. One statement is enough, because each new
 * request calls this.
 */
export const dropUnconfirmed = ({ db, now }: Pick<ServiceContext, 'db' | 'now'>) =>
  db
    .deleteFrom('open_link_requests')
    .where('state', '=', 'unconfirmed')
    .where('id', 'in', (of) =>
      of
        .selectFrom('open_link_requests')
        .select('id')
        .where('state', '=', 'unconfirmed')
        .where('expires_at', '<=', now())
        .limit(DELETED),
    )
    .execute()

/** How many answered requests are kept for each account. Older ones are deleted. */
const MOST_ANSWERED = 1000

export const openLinkRequests = ({
  db,
  now,
  events,
  background,
}: ServiceContext): Service['openLinkRequests'] => ({
  list: async ({ state, ...page }, { account }) => {
    background.run(() => dropUnconfirmed({ db, now }))
    const those = requestsOf(db, account).$if(state !== undefined, (query) =>
      query.where('state', '=', state!),
    )
    const rows = await pageRows(those, page, OPEN_LINK_REQUEST_PREFIX)
    return pageOf(rows.map(resource), page)
  },

  decline: async ({ id }, { account }) => {
    requireId(OPEN_LINK_REQUEST_PREFIX, id, 'request')
    await events.transaction(async (trx) => {
      if (await settle(trx, { id, account }, { state: 'declined' }))
        await events.publish(trx, { type: 'open_link.answered', account, request: id, at: now() })
    })
    const request = await read(db, account, id)
    if (request.state === 'approved') throw answered('approved')
    return request
  },
})

export const openLinkApprovals = ({ db }: ServiceContext): Service['openLinkApprovals'] => ({
  read: ({ id }, { account }) => read(db, account, id),
})

/**
 * Approves a request when a connection is opened for it.
 * @throws AppError `not_found`; `invalid_state`, with the request's state, unless it is pending;
 *   `validation_failed` if the requester is not invited
 */
export const settleApproval: Subscriber<'open_link.approved'> = async ({ trx }, event) => {
  const { account, request: id, connection, invite } = event
  const set = { state: 'approved', connection_id: connection } as const
  const settled = await settle(trx, { id, account }, set)
  const { state, requester } = await read(trx, account, id)
  if (!settled) throw answered(state as Exclude<State, 'pending'>)
  if (!invite.some((one) => 'email' in one && one.email.toLowerCase() === requester.email))
    throw invalid('body', [
      { path: 'invite', message: 'Invite the mailbox of the person who asked.' },
    ])
}
