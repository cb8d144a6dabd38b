/**
 * What other accounts see of an account: its name and its active devices' public keys. The name is
 * not proof of identity. The keys are from the key log, which proves them.
 */
import type { Transaction } from 'kysely'
import * as v from 'valibot'
import { pageOf, readCursor, rowsFor } from '../../api/cursor.ts'
import { Slug, timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { SignedName } from '../../api/rest/names.ts'
import type { PublicKey } from '../../api/rest/profiles.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { replaceProfile, type SignedProfile } from '../../crypto/logs/profile.ts'
import { Refusal, requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { holdApproved, requireApproved } from '../accounts/device-rows.ts'
import { readKeyLog, sealKeysOf } from '../accounts/key-log-rows.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTry, countTryIn } from '../db/attempts.ts'
import { verified, notFound, requireId } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

/** The limit that makes it expensive to try all handles. */
const HANDLES: Brake = {
  what: 'handle',
  most: 60,
  periodMs: 3_600_000,
  message: 'Too many handles were looked up. The limit is 60 an hour.',
}

export const profiles = (ground: ServiceContext): Service['profiles'] => ({
  read: async ({ id }, { account }) => {
    const { db } = ground
    const isHandle = v.is(Slug, id)
    if (isHandle) await countTry(ground, account, HANDLES)
    else requireId('acc_', id, 'account')
    const row = await db
      .selectFrom('accounts')
      .select(['id', 'display_name', 'handle', 'headline', 'kind'])
      .where(isHandle ? 'handle' : 'id', '=', id)
      .executeTakeFirst()
    if (row === undefined) throw notFound('account')
    return { ...row }
  },

  keys: async ({ id: account, ...page }) => {
    const { db } = ground
    const { entries, storedAt } = await readKeyLog(db, account)
    const names = await db
      .selectFrom('devices')
      .select(['id', 'name'])
      .where('account_id', '=', account)
      .execute()
    const nameOf = new Map(names.map(({ id, name }) => [id, name]))
    const sealKeys = new Map((await sealKeysOf(db, account)).map((one) => [one.id, one.seal_key]))
    const { devices } = await storedKeyLog(account, entries)
    const keys = [...devices.values()].reverse().flatMap((device) => {
      const { id, seal, renewals, addedAt } = device
      const active = device.revokedAt === null
      const [device_name, sealKey] = [nameOf.get(id) ?? '', sealKeys.get(id)]
      const at = (seq: number) => timeAt(storedAt[seq]!)
      const { sign: jwk } = device.keys
      const sign = { id: thumbprint(jwk), use: 'sign', jwk, device_name, created_at: at(addedAt) }
      const of = { id: seal, use: 'seal', suite: 1, key: sealKey ?? '', device_name } as const
      return [
        { key: sign as PublicKey, active },
        {
          key: { ...of, created_at: at(renewals.at(-1)?.seq ?? addedAt) },
          active: active && sealKey !== undefined,
        },
      ]
    })
    // Revoked keys are removed only after the cursor is found, so that a revocation between two
    // pages does not break the cursor.
    const at = (id: string | null) => keys.findIndex(({ key }) => key.id === id)
    const last = readCursor(page.cursor, (id) => at(id) >= 0)
    const rest = keys.slice(at(last) + 1).filter(({ active }) => active)
    return pageOf(
      rest.slice(0, rowsFor(page)).map(({ key }) => key),
      page,
    )
  },
})

const DAY_MS = 24 * 3_600_000

/**
 * The limit for name changes. After each change, the devices of all contacts fetch their
 * connections again.
 */
const CHANGES: Brake = {
  what: 'name',
  most: 50,
  periodMs: DAY_MS,
  message: 'The name of this account was changed 50 times in a day, which is the limit.',
}

const olderName = (cause: Refusal) =>
  new AppError(
    'conflict',
    `Another device signed a newer name: ${cause.message}. Sync, then try again.`,
    {
      cause,
    },
  )

/** Verifies a profile, which must be newer than the stored one, and returns it. Throws AppError. */
function requireNewer(stored: string | null, jws: string, log: KeyLog): SignedProfile {
  return verified('profile', () => {
    try {
      const profile = replaceProfile(stored, jws, log)
      requireThat(
        v.is(SignedName, profile.name),
        'bad_value',
        'the name has characters that cannot be displayed',
      )
      return profile
    } catch (error) {
      if (error instanceof Refusal && error.reason === 'not_newer') throw olderName(error)
      throw error
    }
  })
}

async function profileOf(trx: Transaction<Schema>, account: string): Promise<string | null> {
  const { profile } = await trx
    .selectFrom('accounts')
    .select('profile')
    .where('id', '=', account)
    .executeTakeFirstOrThrow()
  return profile
}

/**
 * Signed profiles (docs/protocol.md section 4a). A device signs its account's name. The server
 * verifies and stores the newest profile, and returns it with key logs and rosters. Members verify
 * it again.
 */
export const signedProfiles = ({ db, events, now }: ServiceContext): Service['signedProfiles'] => ({
  give: async ({ body: { profile: jws } }, session) => {
    const { account } = session
    await requireApproved(db, session)
    await events.transaction(async (trx) => {
      await holdApproved(trx, session)
      const stored = await profileOf(trx, account)
      // A device that lost the response sends the same profile again.
      if (stored === jws) return
      await countTryIn(trx, account, CHANGES, now())
      const { entries } = await readKeyLog(trx, account)
      const { name } = requireNewer(stored, jws, await storedKeyLog(account, entries))
      await trx
        .updateTable('accounts')
        .set({ profile: jws, display_name: name })
        .where('id', '=', account)
        .execute()
      await events.publish(trx, { type: 'profile.signed', account, at: now() })
    })
  },
})
