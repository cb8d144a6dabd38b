/**
 * Enrols additional devices of an account. The device sends its keys, which are in no key log yet,
 * and is pending until another device adds it to the key log. A known device can enrol again with
 * the same keys at any time.
 */
import type { Transaction } from 'kysely'
import type { Open } from '../../api/port.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { type LoggedKeys, sameKeys, sealKeyId } from '../../crypto/device-public-keys.ts'
import { jwkBytes, thumbprint } from '../../crypto/jose/jwk.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { insertDevice, taken } from '../accounts/device-rows.ts'
import { verified } from '../db/faults.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

type Body = Parameters<Open['enrolment']['further']>[0]['body']

export const nobodyApproves = () =>
  new AppError(
    'conflict',
    'There is no account here, or the account has no device that could approve this device. If the account of this device was deleted or reset, "countersignd logout --forget" clears the device, and "countersignd login" starts over. "countersignd reset" restores an account that has lost all its devices.',
  )

/** Return this error only to callers with a credential of the account. */
export const revoked = () =>
  new AppError(
    'invalid_state',
    'This device was revoked, and its keys stay revoked. Sign in again on this device, with new keys, as a new device.',
    { details: { state: 'revoked' } },
  )

/** Checks that the keys are valid and differ, as a key log requires. Throws Refusal. */
export function requireKeys({ sign, auth }: Body['keys']): void {
  jwkBytes(sign)
  jwkBytes(auth)
  requireThat(
    sign.x !== auth.x,
    'duplicate_key',
    'the signing key and the authentication key must differ',
  )
}

/** Checks that `id` is the id of this sealing key. Throws AppError if it is not. */
export function requireSealKey(sealKey: string, id: string): void {
  verified('seal_key', () => {
    const named = sealKeyId(decodeBase64url(sealKey)) === id
    requireThat(
      named,
      'hash_mismatch',
      'the hash of seal_key is not the id of the sealing key that the entry names',
    )
  })
}

/**
 * Admits a device to the account that its credential proves. A known device keeps its state; a new
 * device becomes pending. The caller must have locked the account.
 * @throws AppError `invalid_state` for a revoked device; `conflict` if the device id is taken, or
 *   if the account has no device that could approve this one
 */
export async function admitFurther(
  trx: Transaction<Schema>,
  account: string,
  body: Body,
  at: number,
): Promise<void> {
  const { entries } = await entriesOf(trx, account)
  const log = entries.length === 0 ? null : await storedKeyLog(account, entries)
  if (log === null) throw nobodyApproves()
  if (await isKnown(trx, log, body)) return
  if (log.active.length === 0) throw nobodyApproves()
  await wait(trx, log, body, at)
}

/**
 * Returns whether the account has this device. Throws AppError if the id belongs to another device,
 * or if the device was revoked.
 */
async function isKnown(
  trx: Transaction<Schema>,
  log: KeyLog,
  { device, keys }: Body,
): Promise<boolean> {
  const known = await trx
    .selectFrom('devices')
    .select(['account_id', 'keys', 'revoked_at'])
    .where('id', '=', device)
    .executeTakeFirst()
  if (known === undefined) return false
  const its =
    known.keys === null ? log.devices.get(device)?.keys : (JSON.parse(known.keys) as typeof keys)
  const same = its !== undefined && sameKeys(its, keys)
  if (known.account_id !== log.account || !same) throw taken()
  if (known.revoked_at !== null) throw revoked()
  return true
}

async function wait(
  trx: Transaction<Schema>,
  log: KeyLog,
  { device, keys, seal_key, device_name, platform }: Body,
  at: number,
): Promise<void> {
  requireSealKey(seal_key, keys.seal)
  const namesOf = ({ sign, seal, auth }: LoggedKeys) => [sign.x, seal, auth.x]
  const used = new Set([...log.devices.values()].flatMap((one) => namesOf(one.keys)))
  verified('keys', () =>
    requireThat(
      namesOf(keys).every((name) => !used.has(name)),
      'duplicate_key',
      'the key belongs to another device of this account',
    ),
  )
  await insertDevice(
    trx,
    {
      id: device,
      account_id: log.account,
      name: device_name,
      platform,
      seal_key,
      auth_kid: thumbprint(keys.auth),
      keys: JSON.stringify(keys),
      approved_at: null,
    },
    at,
  )
  // The devices that can approve this one report it at once.
  markChanged(trx, ['devices'], { accounts: [log.account] })
}
