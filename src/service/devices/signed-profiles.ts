/**
 * Signed profiles (docs/protocol.md section 4a): a device signs the name of its account. The
 * server stores the newest profile and returns it beside key logs and rosters. It makes the
 * checks that members make again.
 */
import type { Transaction } from 'kysely'
import * as v from 'valibot'
import type { Service } from '../../api/port.ts'
import { SignedName } from '../../api/rest/names.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { type SignedProfile, replaceProfile } from '../../crypto/logs/profile.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { requireApproved, holdApproved } from '../accounts/device-rows.ts'
import { judged } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { readKeyLog } from '../accounts/key-log-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const DAY_MS = 24 * 3_600_000

/** After each change the devices of all contacts fetch their connections again. */
const CHANGES: Brake = {
  what: 'name',
  most: 50,
  periodMs: DAY_MS,
  told: 'The name of this account was changed 50 times in a day.',
}

const olderName = (cause: Refusal) =>
  new AppError(
    'conflict',
    `Another device signed a newer name: ${cause.message}. Sync, then try again.`,
    {
      cause,
    },
  )

/** Returns the profile, verified and newer than the stored one. Throws AppError. */
function requireNewer(kept: string | null, jws: string, log: KeyLog): SignedProfile {
  return judged('profile', () => {
    try {
      const profile = replaceProfile(kept, jws, log)
      requireThat(v.is(SignedName, profile.name), 'bad_value', 'a name that cannot be read')
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

export const signedProfiles = ({ db, events, now }: ServiceContext): Service['signedProfiles'] => ({
  give: async ({ body: { profile: jws } }, session) => {
    const { account } = session
    await requireApproved(db, session)
    await events.transaction(async (trx) => {
      await holdApproved(trx, session)
      const kept = await profileOf(trx, account)
      // A device that lost the response sends the same again.
      if (kept === jws) return
      await countTryIn(trx, account, CHANGES, now())
      const { entries } = await readKeyLog(trx, account)
      const { name } = requireNewer(kept, jws, await storedKeyLog(account, entries))
      await trx
        .updateTable('accounts')
        .set({ profile: jws, display_name: name })
        .where('id', '=', account)
        .execute()
      await events.publish(trx, { type: 'profile.signed', account, at: now() })
    })
  },
})
