/**
 * A further device of an account: it comes with its keys, which stand in no key log yet, and waits until a device that is there
 * adds it. One that is known gets in again with the same keys, however far it has come.
 */
import type { Transaction } from 'kysely'
import type { Open } from '../../api/port.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { type LoggedKeys, sameKeys, sealKeyId } from '../../crypto/device-public-keys.ts'
import { jwkBytes, thumbprint } from '../../crypto/jose/jwk.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { demand } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { addDevice, taken } from '../accounts/device-rows.ts'
import { judged } from '../db/faults.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

type Body = Parameters<Open['enrolment']['further']>[0]['body']

export const nobodyApproves = () =>
  new AppError(
    'conflict',
    'There is no account here, or none with a device that could approve another. Where the account of this device was deleted, or reset, "countersignd logout --forget" clears the device, and "countersignd login" begins anew; "countersignd reset" brings back an account whose devices are all lost.',
  )

/** Only who may open the account is told. */
export const revoked = () =>
  new AppError(
    'invalid_state',
    'This device was revoked, and its keys stay so. Sign in on it anew: it then makes new keys, as a new device.',
    { details: { state: 'revoked' } },
  )

/** Good keys, no two the same: what a key log will demand of them. Throws Refusal. */
export function demandKeys({ sign, auth }: Body['keys']): void {
  jwkBytes(sign)
  jwkBytes(auth)
  demand(sign.x !== auth.x, 'duplicate_key', 'two different signing keys')
}

/** Whether the bytes are those of the sealing key that a log or a device names. Throws AppError. */
export function demandSealKey(sealKey: string, id: string): void {
  judged('seal_key', () => {
    const named = sealKeyId(decodeBase64url(sealKey)) === id
    demand(named, 'hash_mismatch', 'these bytes are not those of the sealing key that is named')
  })
}

/**
 * Let a device in that its credential says is the account's: as it is, or to wait for its approval. The caller holds the key log.
 * @throws AppError `invalid_state` for a revoked one, `conflict` for one whose id is taken or whom nobody could approve
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

/** Whether it is a live device of this account. Throws AppError for any other that has its id. */
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
  demandSealKey(seal_key, keys.seal)
  const namesOf = ({ sign, seal, auth }: LoggedKeys) => [sign.x, seal, auth.x]
  const used = new Set([...log.devices.values()].flatMap((one) => namesOf(one.keys)))
  judged('keys', () =>
    demand(
      namesOf(keys).every((name) => !used.has(name)),
      'duplicate_key',
      'a key of another device of this account',
    ),
  )
  await addDevice(
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
}
