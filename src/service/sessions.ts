/**
 * Sessions of devices. Both tokens are 32 random bytes, of which only SHA-256 is kept: a copy of the database opens nothing.
 * An access token lives an hour; the refresh token stays, and a renewal ends the access token before it.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Session as Tokens } from '../api/device/enrolment.ts'
import { timeAt } from '../api/fields.ts'
import type { Open, Session } from '../api/port.ts'
import { newId } from '../crypto/id.ts'
import { AppError } from '../errors.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'

const ACCESS_MS = 3_600_000
/** How exact `last_seen_at` is: a write for every request would tell nobody more. */
const SEEN_MS = 60_000

const newSecret = () => randomBytes(32).toString('base64url')
const hashed = (secret: string) => hash('sha256', secret, 'hex')

/** A new session of a device. The tokens are in the answer and nowhere else. */
export async function openSession(
  db: Kysely<Schema>,
  of: { account: string; device: string },
  now: number,
): Promise<Tokens> {
  const [id, access, refresh] = [newId('ses_', now), newSecret(), newSecret()]
  const expires = now + ACCESS_MS
  await db
    .insertInto('sessions')
    .values({
      id,
      account_id: of.account,
      device_id: of.device,
      access_hash: hashed(access),
      access_expires_at: expires,
      refresh_hash: hashed(refresh),
      last_seen_at: now,
    })
    .execute()
  return {
    session_id: id,
    refresh_token: refresh,
    access_token: access,
    access_expires_at: timeAt(expires),
  }
}

/** Who an access token stands for; null when it is wrong, expired or replaced. */
export async function authenticate(
  { db, now }: Pick<Ground, 'db' | 'now'>,
  accessToken: string,
): Promise<Session | null> {
  const at = now()
  const row = await db
    .selectFrom('sessions')
    .select(['id', 'account_id', 'device_id', 'last_seen_at'])
    .where('access_hash', '=', hashed(accessToken))
    .where('access_expires_at', '>', at)
    .executeTakeFirst()
  if (row === undefined) return null
  if (row.last_seen_at <= at - SEEN_MS)
    await db.updateTable('sessions').set({ last_seen_at: at }).where('id', '=', row.id).execute()
  return { account: row.account_id, device: row.device_id, session: row.id }
}

export const session = ({ db, now }: Ground): Open['session'] => ({
  renew: async ({ body }) => {
    const access = newSecret()
    const at = now()
    const expires = at + ACCESS_MS
    const row = await db
      .updateTable('sessions')
      .set({ access_hash: hashed(access), access_expires_at: expires, last_seen_at: at })
      .where('refresh_hash', '=', hashed(body.refresh_token))
      .returning('id')
      .executeTakeFirst()
    if (row === undefined)
      throw new AppError('invalid_token', 'This session is not known here: enrol the device again.')
    return {
      session_id: row.id,
      refresh_token: body.refresh_token,
      access_token: access,
      access_expires_at: timeAt(expires),
    }
  },
})
