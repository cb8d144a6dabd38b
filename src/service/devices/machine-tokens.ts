/**
 * Tokens of machine accounts (`csm_`). The database stores only a token's SHA-256. Revoked and
 * expired tokens stay in the list until their retention ends. Tokens are not cached between
 * requests, so a revocation applies from the next request on, on every replica.
 */
import type { Kysely, Transaction } from 'kysely'
import { hash } from 'node:crypto'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { CallerSession, Service } from '../../api/port.ts'
import type { MachineToken } from '../../api/rest/api-tokens.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { newToken } from '../../crypto/token.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/collections.ts'
import { notFound, requireId } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { activeMachines } from './machines.ts'

const PREFIX = 'tok_'
/** The precision of `last_used_at`, in milliseconds. It avoids a write for every request. */
const USED_MS = 60_000

type Row = Schema['machine_tokens']
type Needs = Pick<ServiceContext, 'db' | 'now'>

/** Returns the error for a wrong, an expired or a revoked token. */
const invalidMachineToken = (): AppError =>
  new AppError(
    'invalid_token',
    'This token is wrong, expired or revoked. Request another token with the key of the machine account.',
    // The challenge of RFC 6750 section 3.1.
    { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } },
  )

/** Returns the state of a token. A token that is both revoked and expired counts as revoked. */
function stateOf(row: Row, now: number) {
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at !== null && row.expires_at <= now ? 'expired' : 'active'
}

const timeOf = (unixMs: number | null) => (unixMs === null ? null : timeAt(unixMs))

const shown = ({ id, name, label, scope, created_at, expires_at }: Row) => ({
  id,
  name,
  label,
  scope,
  created_at: timeAt(created_at),
  expires_at: timeOf(expires_at),
})

const resource = (row: Row, now: number): MachineToken => ({
  ...shown(row),
  state: stateOf(row, now),
  last_used_at: timeOf(row.last_used_at),
})

/**
 * Creates a token for a machine account. Only the return value contains the token itself.
 * @param of `expires_in`: the lifetime in seconds, or null for no expiry; `latest`: the latest
 *   allowed expiry time in Unix milliseconds, or null for no limit
 */
export async function mintMachineToken(
  { db, now }: Needs,
  account: string,
  of: Pick<Row, 'name' | 'label' | 'scope' | 'granted'> & {
    expires_in: number | null
    latest?: number | null
  },
) {
  const { expires_in, latest = null, ...rest } = of
  const at = now()
  const token = newToken('csm_')
  const ends = Math.min(expires_in === null ? Infinity : at + expires_in * 1000, latest ?? Infinity)
  const row: Row = {
    ...rest,
    id: newId(PREFIX, at),
    account_id: account,
    hash: hash('sha256', token, 'hex'),
    created_at: at,
    expires_at: ends === Infinity ? null : ends,
    revoked_at: null,
    last_used_at: null,
  }
  await db.insertInto('machine_tokens').values(row).execute()
  return { ...shown(row), token }
}

/**
 * Returns the account and scope of a `csm_` token, which must be valid now.
 * @throws AppError `invalid_token`
 */
export async function authenticateMachine(
  { db, now }: Needs,
  token: string,
): Promise<CallerSession & { scope: Row['scope'] }> {
  const row = await activeMachines(db)
    .innerJoin('machine_tokens', 'machine_tokens.account_id', 'machines.account_id')
    .selectAll('machine_tokens')
    .where('hash', '=', hash('sha256', token, 'hex'))
    .executeTakeFirst()
  const at = now()
  if (row === undefined || stateOf(row, at) !== 'active') throw invalidMachineToken()
  const { id, account_id: account, scope } = row
  if (row.last_used_at === null || row.last_used_at <= at - USED_MS)
    await db.updateTable('machine_tokens').set({ last_used_at: at }).where('id', '=', id).execute()
  return { account, device: null, session: null, token: id, scope }
}

/**
 * Returns the expiry time of a machine account's token in Unix milliseconds; null for no expiry.
 */
export async function machineTokenExpiry(
  db: Kysely<Schema>,
  token: string,
): Promise<number | null> {
  const { expires_at } = await db
    .selectFrom('machine_tokens')
    .select('expires_at')
    .where('id', '=', token)
    .executeTakeFirstOrThrow()
  return expires_at
}

/**
 * Returns the state of a machine account's token, regardless of its expiry. `ended`: the token was
 * revoked or the account is suspended. `unknown`: this server has no such token of the account. It
 * may be a token of the account's daemon.
 */
export async function machineTokenState(
  db: Kysely<Schema>,
  account: string,
  token: string,
): Promise<'active' | 'ended' | 'unknown'> {
  const row = await activeMachines(db)
    .leftJoin('machine_tokens', (join) =>
      join
        .onRef('machine_tokens.account_id', '=', 'machines.account_id')
        .on('machine_tokens.id', '=', token),
    )
    .select(['machine_tokens.id', 'revoked_at'])
    .where('machines.account_id', '=', account)
    .executeTakeFirst()
  if (row === undefined || row.revoked_at !== null) return 'ended'
  return row.id === null ? 'unknown' : 'active'
}

async function requireMachine({ db }: Needs, account: string): Promise<void> {
  const machine = await db
    .selectFrom('machines')
    .select('account_id')
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (machine === undefined)
    throw new AppError(
      'forbidden',
      'Only machine accounts have tokens here. The tokens of a person belong to their daemon, where POST /api/v1/api-tokens creates one.',
    )
}

/**
 * Locks the token with which a request creates another token. Returns the expiry time of the locked
 * token. A revocation of the locked token waits until the transaction ends.
 * @throws AppError `invalid_token` if the token is no longer valid
 */
async function endOf(trx: Transaction<Schema>, token: string, at: number): Promise<number | null> {
  const row = await trx
    .updateTable('machine_tokens')
    .set({ last_used_at: at })
    .where('id', '=', token)
    .where('revoked_at', 'is', null)
    .where('account_id', 'in', activeMachines(trx).select('machines.account_id'))
    .returning('expires_at')
    .executeTakeFirst()
  if (row === undefined || (row.expires_at !== null && row.expires_at <= at))
    throw invalidMachineToken()
  return row.expires_at
}

export const machineTokens = (
  ground: Needs & Pick<ServiceContext, 'events'>,
): Service['machineTokens'] => ({
  list: async (page, { account }) => {
    await requireMachine(ground, account)
    const rows = await pageRows(
      ground.db.selectFrom('machine_tokens').selectAll().where('account_id', '=', account),
      page,
      PREFIX,
    )
    const at = ground.now()
    return pageOf(
      rows.map((row) => resource(row, at)),
      page,
    )
  },
  // Only sessions and tokens with the scope `full` reach this function, so a token can never create
  // a token with a wider scope. The new token also expires no later than the token that creates it.
  // Otherwise a leaked token that expires could create a token that does not expire.
  create: async ({ body }, session) => {
    const { account, token } = session
    await requireMachine(ground, account)
    const { name, scope, label = null, expires_in = null } = body
    return ground.events.transaction(async (trx) => {
      const latest = token === null ? null : await endOf(trx, token, ground.now())
      const of = { name, scope, label, expires_in, latest, granted: 0 } as const
      const made = await mintMachineToken({ ...ground, db: trx }, account, of)
      // Tokens from the token endpoint cause no event, because clients get one every hour.
      await ground.events.publish(trx, {
        type: 'token.created',
        by: session,
        token: made.id,
        at: ground.now(),
      })
      return made
    })
  },
  delete: async ({ id }, session) => {
    const { account } = session
    await requireMachine(ground, account)
    requireId(PREFIX, id, 'token')
    await ground.events.transaction(async (trx) => {
      const { numUpdatedRows: revoked } = await trx
        .updateTable('machine_tokens')
        .set({ revoked_at: ground.now() })
        .where('id', '=', id)
        .where('account_id', '=', account)
        .where('revoked_at', 'is', null)
        .executeTakeFirst()
      if (revoked === 1n) {
        const at = ground.now()
        return ground.events.publish(trx, { type: 'token.revoked', by: session, token: id, at })
      }
      const known = await trx
        .selectFrom('machine_tokens')
        .select('id')
        .where('id', '=', id)
        .where('account_id', '=', account)
        .executeTakeFirst()
      if (known === undefined) throw notFound('token')
    })
  },
})

export const bearer = ({ db }: Pick<ServiceContext, 'db'>): Service['bearer'] => ({
  read: async (_, { account, token }) => {
    if (token === null)
      throw new AppError(
        'forbidden',
        'This route describes the token of a machine account, but the request came with a session.',
      )
    const row = await activeMachines(db)
      .innerJoin('machine_tokens', 'machine_tokens.account_id', 'machines.account_id')
      .select(['scope', 'expires_at'])
      .where('machine_tokens.id', '=', token)
      .where('machines.account_id', '=', account)
      .executeTakeFirst()
    // The token was valid when the request began. The machine account was deleted or suspended
    // since.
    if (row === undefined) throw invalidMachineToken()
    const { scope, expires_at } = row
    return {
      account_id: account,
      token_id: token,
      scope,
      expires_at: expires_at === null ? null : timeAt(expires_at),
    }
  },
})
