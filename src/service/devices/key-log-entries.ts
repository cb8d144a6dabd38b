/**
 * Appends valid entries to key logs, one at a time. An entry is rejected if another entry was
 * appended since its signer read the log. This module is separate from `key-logs.ts`, so that
 * reading does not load the elliptic curve code.
 */
import type { Transaction } from 'kysely'
import type { Service, CallerSession } from '../../api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { sameKeys, sealKeyId } from '../../crypto/device-public-keys.ts'
import { entryHash, parseJws } from '../../crypto/jose/jws.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import {
  approvedAt,
  requireApproved,
  deviceName,
  endDevices,
  forgetClaims,
  holdDevice,
  markLogged,
  updateSealKey,
  waitingDevice,
} from '../accounts/device-rows.ts'
import { deviceOf, verified, verifiedLater } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { readKeyLog } from '../accounts/key-log-rows.ts'
import { switchOff } from '../accounts/public-code-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

/**
 * The limit for entries that a device can add without another device's consent. Every contact reads
 * and verifies the log, so a thief who has a device must not be able to make it too long. `revoke`
 * is not limited.
 */
const CHANGES: Brake = {
  what: 'keys',
  most: 50,
  periodMs: 24 * 3_600_000,
  message: 'The keys of this account were changed 50 times in a day, which is the limit.',
}

/**
 * The longest accepted entry, in characters. The longest entry that a device makes has less than
 * 1,000, but with white space it could have 65,536.
 */
const MOST_CHARACTERS = 4096

/**
 * Verifies an entry as the next entry of a key log, and stores it.
 * @param permit makes the caller's own checks of the resulting log; throws Refusal
 * @throws AppError `conflict` if another entry was appended first, `validation_failed` if the entry
 *   breaks a rule
 */
export async function storeEntry(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  of: { account: string; entries: readonly string[]; entry: string; at: number },
  permit: (log: KeyLog) => void,
): Promise<KeyLog> {
  const { account, entries, entry, at } = of
  const last = entries.at(-1)
  const log = await verifiedLater('entry', async () => {
    const isShort = entry.length <= MOST_CHARACTERS
    requireThat(
      isShort,
      'too_large',
      `this server accepts entries of at most ${MOST_CHARACTERS} characters`,
    )
    const { payload } = parseJws(entry, 'keylog+jws')
    if (last !== undefined && payload.get('prev') !== encodeBase64url(entryHash(last))) return null
    const after = await storedKeyLog(account, entries, [entry])
    permit(after)
    return after
  })
  if (log === null) throw cameFirst()
  const { numInsertedOrUpdatedRows: stored } = await trx
    .insertInto('key_log_entries')
    .values({ account_id: account, seq: log.seq, entry, stored_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (stored !== 1n) throw cameFirst()
  await events.publish(trx, { type: 'key_log.appended', account, at })
  return log
}

const cameFirst = () =>
  new AppError('conflict', 'Another entry came first. Read the key log, then try again.')

type Body = Parameters<Service['keyLogs']['append']>[0]['body']

/** Verifies and stores an entry that a device signed. Returns its position (seq) in the log. */
async function append(
  ground: ServiceContext,
  { entry, seal_key }: Body,
  session: CallerSession,
): Promise<number> {
  const { events, now } = ground
  const { account } = session
  const by = deviceOf(session)
  const { payload } = verified('entry', () => parseJws(entry, 'keylog+jws'))
  const [op, named] = [payload.get('op'), payload.get('device')]
  // Not verified yet. Until `storeEntry` has verified the entry, the id is used only for look-ups.
  const device = typeof named === 'string' ? named : ''
  return events.transaction(async (trx) => {
    await holdDevice(trx, { account, device })
    // If the device is revoked after this check, its entry is rejected because the log then
    // contains the `revoke` entry. A device that is in the log but not approved yet may only revoke
    // itself.
    await (op === 'revoke' && device === by ? approvedAt(trx, by) : requireApproved(trx, session))
    const { entries } = await readKeyLog(trx, account)
    // A device that lost the response sends the same entry again.
    const seen = entries.indexOf(entry)
    if (seen >= 0) return seen
    const at = now()
    if (op === 'renew' || op === 'recovery') await countTryIn(trx, account, CHANGES, at)
    const waiting = op === 'add' ? await waitingDevice(trx, { account, device }, at) : null
    const log = await storeEntry(trx, ground, { account, entries, entry, at }, (after) => {
      requireThat(op !== 'reset', 'bad_op', 'a reset needs a new enrolment')
      requireThat(
        payload.get('by') === by,
        'unknown_signer',
        'the entry is signed by another device',
      )
      const given = seal_key === undefined ? null : sealKeyId(decodeBase64url(seal_key))
      const named = op === 'renew' ? after.devices.get(device)!.seal : null
      requireThat(
        given === named,
        'hash_mismatch',
        'seal_key must be the key that the renew entry names, and is allowed only with a renew entry',
      )
      if (op !== 'add') return
      requireThat(waiting !== null, 'unknown_device', 'no device with this id waits for approval')
      const same = sameKeys(waiting.keys, after.devices.get(device)!.keys)
      requireThat(same, 'bad_key', 'the keys are not those of the device that waits for approval')
    })
    if (op === 'renew') {
      await updateSealKey(trx, device, seal_key!)
      return log.seq
    }
    if (op === 'recovery') {
      const name = await deviceName(trx, by)
      await events.publish(trx, { type: 'recovery_key.changed', account, device: by, name, at })
      return log.seq
    }
    if (waiting === null) {
      await endDevices(trx, [device], at)
      // The public code is switched off even if a device revokes itself, because a thief could sign
      // the device out and keep the secret.
      await switchOff(trx, account)
      await forgetClaims(trx, account)
      const name = await deviceName(trx, device)
      await events.publish(trx, { type: 'device.revoked', account, device, name, at })
      return log.seq
    }
    if (!(await markLogged(trx, device))) throw cameFirst()
    const { name } = waiting
    await events.publish(trx, { type: 'device.added', account, device, name, at })
    return log.seq
  })
}

/** Stores an entry that a device signed. */
export const appendKeyLogEntry =
  (ground: ServiceContext): Service['keyLogs']['append'] =>
  async ({ body }, session) => {
    const seq = await append(ground, body, session)
    return { seq, head: encodeBase64url(entryHash(body.entry)) }
  }
