/**
 * Sessions of devices. Access and refresh tokens are 32 random bytes. The database stores only
 * their SHA-256, so a copy of the database gives no access. An access token is valid for one hour,
 * and a session can have several. The refresh token does not change. Both can be used only with a
 * proof of the device's authentication key (RFC 9449), so a stolen token alone gives no access
 * either.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely, QueryCreator } from 'kysely'
import { changes, SYNC_PARTS } from '../../api/device/changes.ts'
import type { SessionTokens as Tokens } from '../../api/device/enrolment.ts'
import { timeAt } from '../../api/fields.ts'
import { type Proof, challenge } from '../../api/proof-check.ts'
import type { Open, Service, CallerSession, Visitor } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { compiledOnce } from '../db/compiled.ts'
import { deviceOf } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { requireActiveMachine } from './machines.ts'
import { type Proofs, type ProofUse, recordUse, type ValidProof } from './proofs.ts'
import type { Schema } from '../db/schema.ts'
import { type Marks, markSessionEnded, transactionWithMarks } from '../db/sync-marks.ts'

const ACCESS_MS = 3_600_000
/**
 * How long a device may have several sessions, in milliseconds. Concurrent sign-ins must not end
 * each other's sessions.
 */
const BESIDE_MS = 5 * 60_000
/** How many unproven sessions a device may have. */
const MOST_UNPROVEN = 20

const newSecret = () => randomBytes(32).toString('base64url')
const hashed = (secret: string) => hash('sha256', secret, 'hex')

/** Creates an access token for a session. Existing access tokens stay valid. */
async function openAccess(db: Kysely<Schema>, session: string, now: number) {
  const access = newSecret()
  const expires = now + ACCESS_MS
  await db
    .insertInto('access_tokens')
    .values({ hash: hashed(access), session_id: session, expires_at: expires })
    .execute()
  return { access_token: access, access_expires_at: timeAt(expires) }
}

/** Deletes the expired access tokens of a device. */
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
 * Deletes a device's expired access tokens, and its sessions that were not proven in time.
 * @throws AppError `rate_limited` if the device still has too many unproven sessions
 */
async function requireRoom(db: Kysely<Schema>, device: string, now: number): Promise<void> {
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
  throw new AppError('rate_limited', 'This device was signed in too often. Try again later.', {
    headers: { 'Retry-After': String(BESIDE_MS / 1000) },
  })
}

/**
 * Opens a session for a device. Existing sessions stay valid for now. The session is unproven until
 * its first proof of the device's key; the embedded daemon in the server's process needs none. Only
 * the return value contains the tokens.
 */
export async function openSession(
  db: Kysely<Schema>,
  of: { account: string; device: string; within: boolean },
  now: number,
): Promise<Tokens> {
  await requireRoom(db, of.device, now)
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
  new AppError(
    'invalid_token',
    'This session has ended or belongs to another key. Renew the session.',
    {
      headers: challenge('invalid_token'),
    },
  )

/** An access token with its proof. */
interface Presented extends ProofUse {
  readonly tokenHash: string
  /** RFC 7638 thumbprint of the proof's key. */
  readonly thumbprint: string
  readonly at: number
}

const sessionOf = (db: QueryCreator<Schema>, { tokenHash, thumbprint, at }: Presented) =>
  db
    .selectFrom('access_tokens')
    .innerJoin('sessions', 'sessions.id', 'session_id')
    .innerJoin('devices', 'devices.id', 'device_id')
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .select(['sessions.id', 'sessions.account_id', 'kind', 'device_id', 'last_seen_at', 'proven'])
    .select('approved_at')
    .where('access_tokens.hash', '=', tokenHash)
    .where('access_tokens.expires_at', '>', at)
    .where('auth_kid', '=', thumbprint)
    .where('revoked_at', 'is', null)

const readSession = compiledOnce((db, of: Presented) => sessionOf(db, of))

type Kind = Schema['accounts']['kind']

/**
 * Records the use of a proof, as the query `used` beside the query `session`.
 * @param kind records it only if the session belongs to this kind of account
 */
const useIn = (
  query: QueryCreator<Schema & { session: { kind: Kind } }>,
  { useId, useExpires, epoch }: ProofUse,
  kind?: Kind,
) =>
  query
    .insertInto('used_proofs')
    .columns(['id', 'expires_at'])
    .expression((is) =>
      is
        .selectFrom(['session', 'proof_epoch'])
        .select([is.val(useId).as('id'), is.val(useExpires).as('expires_at')])
        .where('epoch', '=', epoch)
        .$if(kind !== undefined, (some) => some.where('kind', '=', kind!)),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('used_proofs.id as use_id')

const sessionWithUseOf = (db: Kysely<Schema>, of: Presented) =>
  db
    .with('session', (query) => sessionOf(query, of))
    .with('used', (query) => useIn(query, of))
    .selectFrom('session')
    .leftJoin('used', (join) => join.onTrue())
    .selectAll('session')
    .select('use_id')

/** Does in one statement what `sessionWithUse` describes. */
const readSessionWithUse = compiledOnce((db, of: Presented) => sessionWithUseOf(db, of))

/** Also reads the marks of the account, so that a sync without news is one statement. */
const readSessionWithMarks = compiledOnce((db, of: Presented) =>
  sessionWithUseOf(db, of)
    .leftJoin('sync_marks', 'sync_marks.account_id', 'session.account_id')
    .select(['made_at', ...SYNC_PARTS]),
)

const noteProven = compiledOnce((db, { id, at }: { readonly id: string; readonly at: number }) =>
  db.updateTable('sessions').set({ last_seen_at: at, proven: 1 }).where('id', '=', id),
)

/** Stores that a session was used with a proof: before the answer if it is the first proof. */
async function noteUsed(
  { db, lastSeen }: Pick<ServiceContext, 'db' | 'lastSeen'>,
  { id, last_seen_at, proven }: Pick<Schema['sessions'], 'id' | 'last_seen_at' | 'proven'>,
  at: number,
): Promise<void> {
  if (proven === 0) await noteProven(db, { id, at })
  else lastSeen.note({ id, last_seen_at })
}

/** Returns the marks in a row; undefined if they were not read, or if the account has none. */
const marksIn = (row: object): Marks | undefined =>
  'made_at' in row && row.made_at !== null ? (row as Marks) : undefined

/** Whether a request is the first of a sync, which needs the marks of its account. */
const readsMarks = ({ method, path }: Proof) =>
  method === changes.read.method && path === changes.read.path

/**
 * Returns the session of a token and a proof. Records the use of the proof only if there is such a
 * session, so that callers without a session cannot cause writes. Stores that the session was seen
 * and proven only if the use was recorded.
 * @param withMarks whether to read the marks of the account too, if the engine can
 * @returns `use_id` is null if the use was not recorded, because it is not the first
 */
async function sessionWithUse(
  { db, writesInWith, lastSeen }: Pick<ServiceContext, 'db' | 'writesInWith' | 'lastSeen'>,
  of: Presented,
  withMarks: boolean,
) {
  const read = !writesInWith ? readSession : withMarks ? readSessionWithMarks : readSessionWithUse
  const [found] = await read(db, of)
  if (found === undefined) return undefined
  const use_id = 'use_id' in found ? found.use_id : ((await recordUse(db, of))[0]?.id ?? null)
  if (use_id !== null) await noteUsed({ db, lastSeen }, found, of.at)
  return { ...found, use_id, marks: marksIn(found) }
}

/**
 * Returns the session that an access token and its proof belong to, with the marks of its account
 * if the request is the first of a sync and they were read in the same statement.
 * @throws AppError `invalid_token`
 */
export async function authenticate(
  ground: Pick<ServiceContext, 'db' | 'now' | 'writesInWith' | 'lastSeen'>,
  proofs: Proofs,
  { token, proof }: { token: string; proof: Proof | null },
): Promise<CallerSession & { scope: 'session' | 'device'; marks?: Marks }> {
  // A token that is bound to a key must not be accepted as a bearer token (RFC 9449 section 7.2).
  if (proof === null)
    throw new AppError(
      'invalid_token',
      'This token is valid only with a proof of its key (DPoP).',
      {
        headers: challenge('invalid_token'),
      },
    )
  // The proof is verified first, because that needs no query.
  const shown = await proofs.verify(proof, token)
  const use = proofs.useOf(shown)
  const presented = {
    tokenHash: hashed(token),
    thumbprint: shown.thumbprint,
    at: ground.now(),
    ...use,
  }
  const row = await sessionWithUse(ground, presented, readsMarks(proof))
  // A token that is bound to another key gets the same error, so that the error reveals nothing
  // about a stolen token.
  if (row === undefined) throw ended()
  if (row.kind === 'machine') await requireActiveMachine(ground.db, row.account_id)
  if (row.use_id === null) throw await proofs.unrecorded(use)
  return {
    account: row.account_id,
    device: row.device_id,
    session: row.id,
    token: null,
    scope: row.approved_at === null ? 'device' : 'session',
    ...(row.marks === undefined ? {} : { marks: row.marks }),
  }
}

/** An anonymous caller who has proven a key. */
interface Proven extends Visitor {
  /** The proof, to be recorded as used when it has given access. */
  readonly shown: ValidProof
}

/**
 * Returns the caller that a proof proves. The proof is not recorded as used yet, so that anonymous
 * callers cannot cause writes.
 */
export async function provenBy(proofs: Proofs, proof: Proof): Promise<Proven> {
  const shown = await proofs.verify(proof, null)
  return { key: shown.thumbprint, shown }
}

const unknownSession = () =>
  new AppError('invalid_token', 'The account server has no such session. Enrol the device again.', {
    headers: challenge('invalid_token'),
  })

/** A refresh token with its proof, and the access token to be stored. */
interface Renewal {
  readonly refreshHash: string
  /** RFC 7638 thumbprint of the proven key. */
  readonly thumbprint: string
  readonly tokenHash: string
  readonly tokenExpires: number
  readonly at: number
}

/** Selects the session of a refresh token, and an invitation of an organisation if there is one. */
const renewable = (db: QueryCreator<Schema>, of: Pick<Renewal, 'refreshHash' | 'thumbprint'>) =>
  db
    .selectFrom('sessions')
    .innerJoin('devices', 'devices.id', 'device_id')
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .select(['sessions.id', 'sessions.account_id', 'kind', 'device_id', 'sessions.created_at'])
    .select(['last_seen_at', 'proven'])
    .select((is) =>
      is
        .selectFrom('emails')
        .innerJoin('organisation_invites', 'organisation_invites.email', 'address')
        .select('organisation_invites.id')
        .whereRef('emails.account_id', '=', 'sessions.account_id')
        .where('state', '=', 'invited')
        .limit(1)
        .as('invite'),
    )
    .where('refresh_hash', '=', of.refreshHash)
    .where('auth_kid', '=', of.thumbprint)
    .where('revoked_at', 'is', null)

const readRenewable = compiledOnce(
  (db, of: { readonly refreshHash: string; readonly thumbprint: string }) => renewable(db, of),
)

/**
 * Does in one statement what `renewInSteps` does, with the use of the proof, if the session belongs
 * to this kind of account. It does not store that the session was seen and proven.
 */
const renewInWith = compiledOnce((db, of: Renewal & ProofUse & { readonly kind: Kind }) =>
  db
    .with('session', (query) => renewable(query, of))
    .with('used', (query) => useIn(query, of, of.kind))
    .with('renewed', (query) =>
      query
        .selectFrom('sessions')
        .innerJoin('session', 'session.id', 'sessions.id')
        .innerJoin('used', (join) => join.onTrue())
        .select('sessions.id as renewed_id')
        // The session cannot be deleted from now on. There is no row if it was just deleted.
        .forNoKeyUpdate('sessions'),
    )
    .with('replaced', (query) =>
      query
        .deleteFrom('sessions')
        .using(['session', 'renewed'])
        .whereRef('sessions.device_id', '=', 'session.device_id')
        .where((is) =>
          is('sessions.created_at', '<=', is('session.created_at', '-', is.lit(BESIDE_MS))),
        ),
    )
    .with('expired', (query) =>
      query
        .deleteFrom('access_tokens')
        .using(['session', 'renewed', 'sessions as own'])
        .whereRef('own.device_id', '=', 'session.device_id')
        .whereRef('access_tokens.session_id', '=', 'own.id')
        .where('access_tokens.expires_at', '<=', of.at),
    )
    .with('opened', (query) =>
      query
        .insertInto('access_tokens')
        .columns(['hash', 'session_id', 'expires_at'])
        .expression((is) =>
          is
            .selectFrom('renewed')
            .select([is.val(of.tokenHash).as('hash'), 'renewed_id as session_id'])
            .select(is.val(of.tokenExpires).as('expires_at')),
        ),
    )
    .selectFrom('session')
    .leftJoin('used', (join) => join.onTrue())
    .leftJoin('renewed', (join) => join.onTrue())
    .select(['session.id', 'account_id', 'kind', 'last_seen_at', 'proven', 'invite'])
    .select(['use_id', 'renewed_id']),
)

type Renewed = { readonly id: string; readonly account_id: string; readonly invite: string | null }

async function renewAtOnce(
  { db, lastSeen }: ServiceContext,
  proofs: Proofs,
  of: Renewal & ProofUse,
): Promise<Renewed> {
  let [row] = await renewInWith(db, { ...of, kind: 'person' })
  if (row?.kind === 'machine') {
    await requireActiveMachine(db, row.account_id)
    ;[row] = await renewInWith(db, { ...of, kind: 'machine' })
  }
  if (row === undefined) throw unknownSession()
  if (row.use_id === null) throw await proofs.unrecorded(of)
  // The session was just deleted.
  if (row.renewed_id === null) throw unknownSession()
  await noteUsed({ db, lastSeen }, row, of.at)
  return row
}

/**
 * Renews a session, deletes the older sessions and the expired access tokens of the device, and
 * stores the new access token.
 * @param use records the use of the proof
 */
async function renewInSteps(
  { db }: ServiceContext,
  { refreshHash, thumbprint, tokenHash, tokenExpires, at }: Renewal,
  use: () => Promise<void>,
): Promise<Renewed> {
  const [known] = await readRenewable(db, { refreshHash, thumbprint })
  if (known === undefined) throw unknownSession()
  if (known.kind === 'machine') await requireActiveMachine(db, known.account_id)
  await use()
  await db.transaction().execute(async (trx) => {
    // The update locks the session, so that it cannot be deleted. It changes no row if the session
    // was just deleted.
    const row = await trx
      .updateTable('sessions')
      .set({ last_seen_at: at, proven: 1 })
      .where('id', '=', known.id)
      .returning('id')
      .executeTakeFirst()
    if (row === undefined) throw unknownSession()
    // Deletes the device's older sessions, which this one replaces. Sessions opened at about the
    // same time stay.
    await trx
      .deleteFrom('sessions')
      .where('device_id', '=', known.device_id)
      .where('created_at', '<=', known.created_at - BESIDE_MS)
      .execute()
    await dropExpired(trx, known.device_id, at)
    await trx
      .insertInto('access_tokens')
      .values({ hash: tokenHash, session_id: known.id, expires_at: tokenExpires })
      .execute()
  })
  return known
}

export const session = (ground: ServiceContext, proofs: Proofs): Open['session'] => ({
  renew: async ({ body }, { key, shown }: Visitor & Partial<Proven>) => {
    const { events, now, writesInWith } = ground
    if (key === null)
      throw new AppError(
        'invalid_token',
        'Renewing a session needs a proof of the device’s authentication key.',
        { headers: challenge('invalid_dpop_proof') },
      )
    const at = now()
    const access = newSecret()
    const renewal: Renewal = {
      refreshHash: hashed(body.refresh_token),
      thumbprint: key,
      tokenHash: hashed(access),
      tokenExpires: at + ACCESS_MS,
      at,
    }
    const { id, account_id, invite } =
      writesInWith && shown !== undefined
        ? await renewAtOnce(ground, proofs, { ...renewal, ...proofs.useOf(shown) })
        : await renewInSteps(ground, renewal, async () => {
            if (shown !== undefined) await proofs.use(shown)
          })
    if (invite !== null)
      await events.transaction((trx) =>
        events.publish(trx, { type: 'account.signed_in', account: account_id, at }),
      )
    return {
      session_id: id,
      refresh_token: body.refresh_token,
      access_token: access,
      access_expires_at: timeAt(renewal.tokenExpires),
    }
  },
})

export const currentSession = ({ db }: ServiceContext): Service['currentSession'] => ({
  delete: async (_, context) => {
    const device = deviceOf(context)
    const { account, session } = context
    await transactionWithMarks(db, async (trx) => {
      // A device that signs out before it was added to the key log is deleted.
      await trx
        .deleteFrom('devices')
        .where('id', '=', device)
        .where('keys', 'is not', null)
        .execute()
      await trx.deleteFrom('sessions').where('id', '=', session).execute()
      markSessionEnded(trx, account)
    })
  },
})
