/**
 * Renews this device's sealing key.
 *
 * The private key is in the keychain before the key log can name the new key. Later the log shows
 * whether the renewal was accepted. So the next run recovers from a crash or a lost response, and
 * two concurrent runs post the same key.
 * @see protocol, section 3
 */
import type { Account } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { sealKeyId } from '../../crypto/device-public-keys.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { renewSealKey } from '../../crypto/logs/key-log-entries.ts'
import { newSealKey } from '../../crypto/seal-key.ts'
import { AppError } from '../../errors.ts'
import {
  copyWarning,
  foreignRenewal,
  noteCopy,
  unmarkRestored,
  wasRestored,
  type OwnSealKey,
} from '../identity/own-keys.ts'
import {
  type Remembering,
  continueKeyLog,
  withLogRefusals,
  rememberKeyLog,
} from '../logs/key-log.ts'
import { type Sealing, OLD_KEY_KEPT_MS, isOld } from './seal-schedule.ts'
import { revokedHere } from '../identity/refusals.ts'

/** The parts of the device context that a renewal needs. */
type Renewing = Sealing & Remembering

/**
 * The maximum number of old private keys.
 *
 * The Windows keychain cannot store more, because an entry has at most 2,560 bytes.
 */
const MOST_OLD = 6

/** Returns the key that will become the newest: a key from an earlier run, or a new one. */
async function nextKey({ identity, now, requireSession }: Renewing): Promise<OwnSealKey> {
  const { sealKeys } = identity
  const made = sealKeys.read().next
  if (made !== null) return made
  const { secret, publicKey } = await newSealKey()
  requireSession()
  const meanwhile = sealKeys.read().next
  if (meanwhile !== null) return meanwhile
  const next = { id: sealKeyId(publicKey), key: encodeBase64url(publicKey), made_at: now() }
  sealKeys.add(next, secret)
  return next
}

/**
 * Updates the keychain from the sealing key that the key log names for this device.
 *
 * If another copy of this device's keys made a renewal, records it, unless this device was just
 * restored from a backup.
 * @returns whether this device has the newest key that the log names
 */
function settle({ state, identity, now }: Renewing, log: KeyLog): boolean {
  const { sealKeys, device } = identity
  const keys = sealKeys.read()
  const foreign = foreignRenewal(log, device, keys)
  if (foreign !== null && !wasRestored(state)) noteCopy(state, { seq: foreign, device })
  const { newest, next, old } = keys
  const own = log.devices.get(identity.device)
  if (own === undefined) return true
  const isNext = own.seal === next?.id
  const isHeld = isNext || own.seal === newest.id
  const seq = isHeld ? log.seq : keys.seq
  const since = now()
  if (next !== null && isNext)
    sealKeys.keep({ newest: next, next: null, old: [...old, { id: newest.id, since }], seq })
  else if (next !== null && own.renewals.some(({ seal }) => seal === next.id))
    // The log contains this key, and then a newer one.
    sealKeys.keep({ newest, next: null, old: [...old, { id: next.id, since }], seq })
  else if (seq !== keys.seq) sealKeys.keep({ ...keys, seq })
  // Must follow the storing of `seq`. Otherwise, after a crash, a later renewal by a copy would be
  // excused too.
  if (isHeld && wasRestored(state)) unmarkRestored(state)
  return isHeld
}

/**
 * Requires that no copy of this device's keys was found, because the copy could renew again.
 * @throws AppError invalid_state
 */
function requireNoCopy({ state }: Pick<Renewing, 'state'>): void {
  const warning = copyWarning(state)
  if (warning !== null)
    throw new AppError('invalid_state', warning, { details: { state: 'keys_copied' } })
}

/**
 * Gives this device a sealing key that is newer than the one in the key log.
 *
 * Stops without a new key if the log has renewals by a copy of this device's keys.
 */
async function renew(device: Renewing, account: Account): Promise<void> {
  const { state, identity, now, requireSession } = device
  const { sign } = await identity.keys()
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret }
  for (let isDone = false; !isDone;) {
    const { id: seal, key: seal_key } = await nextKey(device)
    const entryAfter = (log: KeyLog) => {
      const own = log.devices.get(identity.device)
      if (own === undefined || own.revokedAt !== null) throw revokedHere()
      if (own.renewals.some((one) => one.seal === seal)) return null
      return renewSealKey({ log, seal, ...by, at: Math.floor(now() / 1000) })
    }
    const log = await continueKeyLog(state, account, identity.account, entryAfter, { seal_key })
    requireSession()
    withLogRefusals(() => rememberKeyLog(device, log))
    isDone = settle(device, log) || copyWarning(state) !== null
  }
}

/**
 * Completes an earlier renewal, and renews the sealing key if that is due.
 *
 * A renewal is due if the key is 90 days old, or if this device was restored from a backup that was
 * made before a renewal. Does not renew if a copy of the keys was found.
 * @returns whether it renewed because this device was restored
 * @throws AppError as `continueKeyLog` does, keychain_locked
 */
export async function renewIfDue(device: Renewing, account: Account): Promise<boolean> {
  const isHeld = settle(device, await device.identity.keyLog())
  if (copyWarning(device.state) !== null) return false
  const { newest, next } = device.identity.sealKeys.read()
  if (!isHeld || next !== null || isOld(newest, device.now())) await renew(device, account)
  return !isHeld
}

/**
 * Requires fewer than `MOST_OLD` renewals in the last 7 days.
 * @throws AppError rate_limited, with Retry-After
 */
function requireRoom({ identity, now }: Renewing): void {
  const { old } = identity.sealKeys.read()
  const [oldest] = old
  if (old.length < MOST_OLD || oldest === undefined) return
  const seconds = Math.max(
    1,
    Math.ceil((Math.min(oldest.since, now()) + OLD_KEY_KEPT_MS - now()) / 1000),
  )
  throw new AppError(
    'rate_limited',
    `This device has renewed its sealing key ${MOST_OLD} times in 7 days, which is the limit. Try again in ${Math.ceil(seconds / 3600)} hours.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

/**
 * Renews the sealing key at the user's request.
 *
 * If an earlier renewal is unfinished, its entry may be in transit, so the earlier renewal is
 * completed first. Its new key may have been copied, so a second renewal follows.
 * @returns until when the old private key is kept, Unix milliseconds
 * @throws AppError rate_limited, invalid_state if a copy of the keys was found, and as `renewIfDue`
 *   does
 */
export async function renewNow(device: Renewing, account: Account): Promise<number> {
  requireNoCopy(device)
  requireRoom(device)
  if (device.identity.sealKeys.read().next !== null) await renew(device, account)
  await renew(device, account)
  requireNoCopy(device)
  return device.now() + OLD_KEY_KEPT_MS
}
