/**
 * Sessions of devices. Both tokens are 32 random bytes, of which only SHA-256 is kept: a copy of the database opens nothing.
 * An access token lives an hour, beside others of its session; the refresh token stays. Neither is any good without a proof of
 * the device's authentication key (RFC 9449), so a stolen one opens nothing either.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Session as Tokens } from '../../api/device/enrolment.ts'
import { timeAt } from '../../api/fields.ts'
import type { Open, Service, Session, Visitor } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { deviceOf } from '../db/faults.ts'
import type { Ground } from '../context.ts'
import { demandActiveMachine } from './machines.ts'
import { challenge, type Proof, type Proofs, type Shown } from './proofs.ts'
import type { Schema } from '../db/schema.ts'

const ACCESS_MS = 3_600_000
/** How long a device may have a further session: of two sign-ins at once, neither ends the other. */
const BESIDE_MS = 5 * 60_000
/** How many sessions a device may have that nobody used yet. */
const MOST_UNPROVEN = 20
/** How exact `last_seen_at` is: a write for every request would tell nobody more. */
const SEEN_MS = 60_000

const newSecret = () => randomBytes(32).toString('base64url')
const hashed = (secret: string) => hash('sha256', secret, 'hex')

/** A new access token of a session, beside those it has. */
async function openAccess(db: Kysely<Schema>, session: string, now: number) {
  const access = newSecret()
  const expires = now + ACCESS_MS
  await db
    .insertInto('access_tokens')
    .values({ hash: hashed(access), session_id: session, expires_at: expires })
    .execute()
  return { access_token: access, access_expires_at: timeAt(expires) }
}

/** Delete the access tokens of a device that are over. */
async function dropExpired(db: Kysely<Schema>, device: string, now: number): Promise<void> {
  await db
    .deleteFrom('access_tokens')
    .where('session_id', 'in', (of) =>
      of.selectFrom('sessions').select('id').where('device_id', '=', device),
    )
    .where('expires_at', '<=', now)
    .execute()
}

/**
 * Forget the sessions of a device that nobody proved its key for in time, with all that is over. Throws AppError `rate_limited`
 * while there are too many others.
 */
async function demandRoom(db: Kysely<Schema>, device: string, now: number): Promise<void> {
  await dropExpired(db, device, now)
  await db
    .deleteFrom('sessions')
    .where('device_id', '=', device)
    .where('proven', '=', 0)
    .where('created_at', '<=', now - BESIDE_MS)
    .execute()
  const { unproven } = await db
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll<number>().as('unproven'))
    .where('device_id', '=', device)
    .where('proven', '=', 0)
    .executeTakeFirstOrThrow()
  if (unproven < MOST_UNPROVEN) return
  throw new AppError('rate_limited', 'This device was signed in too often: try again in a while.', {
    headers: { 'Retry-After': String(BESIDE_MS / 1000) },
  })
}

/**
 * A new session of a device, beside those it has: whoever opens one has not proven the device's key yet, and only the daemon in the
 * server's own process never will. The tokens are in the answer and nowhere else.
 */
export async function openSession(
  db: Kysely<Schema>,
  of: { account: string; device: string; within: boolean },
  now: number,
): Promise<Tokens> {
  await demandRoom(db, of.device, now)
  const [id, refresh] = [newId('ses_', now), newSecret()]
  await db
    .insertInto('sessions')
    .values({
      id,
      account_id: of.account,
      device_id: of.device,
      refresh_hash: hashed(refresh),
      created_at: now,
      last_seen_at: now,
      proven: of.within ? 2 : 0,
    })
    .execute()
  return { session_id: id, refresh_token: refresh, ...(await openAccess(db, id, now)) }
}

const ended = () =>
  new AppError('invalid_token', 'This session has ended, or is another key’s: renew it.', {
    headers: challenge('invalid_token'),
  })

/**
 * Whose session an access token with its proof is.
 * @throws AppError `invalid_token`
 */
export async function authenticate(
  { db, now }: Pick<Ground, 'db' | 'now'>,
  proofs: Proofs,
  { token, proof }: { token: string; proof: Proof | null },
): Promise<Session & { scope: 'session' | 'device' }> {
  // RFC 9449 section 7.2: a token that is bound to a key is no bearer token.
  if (proof === null)
    throw new AppError('invalid_token', 'This token is good only with a proof of its key (DPoP).', {
      headers: challenge('invalid_token'),
    })
  // What costs no query comes first.
  const shown = await proofs.judge(proof, token)
  const at = now()
  const row = await db
    .selectFrom('access_tokens')
    .innerJoin('sessions', 'sessions.id', 'session_id')
    .innerJoin('devices', 'devices.id', 'device_id')
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .select([
      'sessions.id',
      'sessions.account_id',
      'kind',
      'device_id',
      'last_seen_at',
      'proven',
      'approved_at',
    ])
    .where('access_tokens.hash', '=', hashed(token))
    .where('access_tokens.expires_at', '>', at)
    .where('auth_kid', '=', shown.thumbprint)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  // Also for a token that is another key's: whoever stole one learns nothing of it.
  if (row === undefined) throw ended()
  if (row.kind === 'machine') await demandActiveMachine(db, row.account_id)
  await proofs.use(shown)
  const seen = row.last_seen_at <= at - SEEN_MS ? at : row.last_seen_at
  if (row.proven === 0 || seen !== row.last_seen_at)
    await db
      .updateTable('sessions')
      .set({ last_seen_at: seen, proven: 1 })
      .where('id', '=', row.id)
      .execute()
  return {
    account: row.account_id,
    device: row.device_id,
    session: row.id,
    token: null,
    scope: row.approved_at === null ? 'device' : 'session',
  }
}

/** A visitor whose key a proof showed. */
export interface Proven extends Visitor {
  /** What there is to note of the proof, once it opened something. */
  readonly shown: Shown
}

/** A visitor may be asked about before anything of it is kept: strangers write nothing here. */
export async function provenBy(proofs: Proofs, proof: Proof): Promise<Proven> {
  const shown = await proofs.judge(proof, null)
  return { key: shown.thumbprint, shown }
}

const unknownSession = () =>
  new AppError('invalid_token', 'This session is not known here: enrol the device again.', {
    headers: challenge('invalid_token'),
  })

export const session = (ground: Ground, proofs: Proofs): Open['session'] => ({
  renew: async ({ body }, { key, shown }: Visitor & Partial<Proven>) => {
    const { db, events, now } = ground
    if (key === null)
      throw new AppError(
        'invalid_token',
        'A session is renewed with a proof of the device’s authentication key.',
        { headers: challenge('invalid_dpop_proof') },
      )
    const at = now()
    const refreshHash = hashed(body.refresh_token)
    const known = await db
      .selectFrom('sessions')
      .innerJoin('devices', 'devices.id', 'device_id')
      .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
      .select(['sessions.id', 'sessions.account_id', 'kind'])
      .where('refresh_hash', '=', refreshHash)
      .where('auth_kid', '=', key)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    if (known === undefined) throw unknownSession()
    if (known.kind === 'machine') await demandActiveMachine(db, known.account_id)
    if (shown !== undefined) await proofs.use(shown)
    return events.transaction(async (trx) => {
      // Until this ends nobody ends the session; who did so a moment ago is heeded.
      const row = await trx
        .updateTable('sessions')
        .set({ last_seen_at: at, proven: 1 })
        .where('id', '=', known.id)
        .returning(['id', 'device_id', 'created_at'])
        .executeTakeFirst()
      if (row === undefined) throw unknownSession()
      // Those that this one replaces. Two that were opened at the same moment sign nobody out.
      await trx
        .deleteFrom('sessions')
        .where('device_id', '=', row.device_id)
        .where('created_at', '<=', row.created_at - BESIDE_MS)
        .execute()
      await dropExpired(trx, row.device_id, at)
      const access = await openAccess(trx, row.id, at)
      await events.publish(trx, { type: 'account.signed_in', account: known.account_id, at })
      return { session_id: row.id, refresh_token: body.refresh_token, ...access }
    })
  },
})

export const currentSession = ({ db }: Ground): Service['currentSession'] => ({
  delete: async (_, context) => {
    const device = deviceOf(context)
    const { session } = context
    await db.transaction().execute(async (trx) => {
      // A newcomer that leaves before anybody added it is nobody's device.
      await trx
        .deleteFrom('devices')
        .where('id', '=', device)
        .where('keys', 'is not', null)
        .execute()
      await trx.deleteFrom('sessions').where('id', '=', session).execute()
    })
  },
})
