/**
 * Renewing the sealing key of this device (protocol, section 3). The private half is in the keychain
 * before the key log can name the key; the log afterwards shows whether it was accepted. So a
 * crash, or an answer that was lost, leaves nothing that the next run does not settle, and two runs at
 * once post the same key.
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
} from '../identity/copied-keys.ts'
import { type Remembering, continueKeyLog, judged, rememberKeyLog } from '../logs/key-log.ts'
import type { OwnSealKey } from '../identity/own-seal-keys.ts'
import { type Sealing, KEPT_MS, isOld } from './seal-schedule.ts'
import { revokedHere } from '../identity/refusals.ts'

/** What renewing needs of a device. */
export type Renewing = Sealing & Remembering

/** More old private halves do not fit into the keychain of Windows: an entry is at most 2,560 bytes. */
const MOST_OLD = 6

/** The key that is to be the newest: the one that an earlier run made, or a new one. */
async function nextKey({ identity, now, demandSeat }: Renewing): Promise<OwnSealKey> {
  const { sealKeys } = identity
  const made = sealKeys.read().next
  if (made !== null) return made
  const { secret, publicKey } = await newSealKey()
  demandSeat()
  const meanwhile = sealKeys.read().next
  if (meanwhile !== null) return meanwhile
  const next = { id: sealKeyId(publicKey), key: encodeBase64url(publicKey), made_at: now() }
  sealKeys.add(next, secret)
  return next
}

/**
 * Updates the keychain by the sealing key that the own key log names for this device. A renewal that
 * was not made here is noted, unless this device was just restored from a backup.
 * @returns whether the newest key that the log names is held here
 */
function settle({ state, identity, now }: Renewing, log: KeyLog): boolean {
  const { sealKeys, device } = identity
  const kept = sealKeys.read()
  const foreign = foreignRenewal(log, device, kept)
  if (foreign !== null && !wasRestored(state)) noteCopy(state, { seq: foreign, device })
  const { newest, next, old } = kept
  const own = log.devices.get(identity.device)
  if (own === undefined) return true
  const isNext = own.seal === next?.id
  const isHeld = isNext || own.seal === newest.id
  const seq = isHeld ? log.seq : kept.seq
  const since = now()
  if (next !== null && isNext)
    sealKeys.keep({ newest: next, next: null, old: [...old, { id: newest.id, since }], seq })
  else if (next !== null && own.renewals.some(({ seal }) => seal === next.id))
    // The log named it, and another one since.
    sealKeys.keep({ newest, next: null, old: [...old, { id: next.id, since }], seq })
  else if (seq !== kept.seq) sealKeys.keep({ ...kept, seq })
  // After the place was kept: a crash between the two excuses nothing that is not excused already.
  if (isHeld && wasRestored(state)) unmarkRestored(state)
  return isHeld
}

/** Throws AppError invalid_state where a copy of the keys was found: it could renew again as well. */
function requireNoCopy({ state }: Pick<Renewing, 'state'>): void {
  const warning = copyWarning(state)
  if (warning !== null)
    throw new AppError('invalid_state', warning, { details: { state: 'keys_copied' } })
}

/**
 * Gives this device a sealing key that is newer than the one the log names now. Ends without one where
 * the log turns out to have renewals that were not made here.
 */
async function renew(device: Renewing, account: Account): Promise<void> {
  const { state, identity, now, demandSeat } = device
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
    demandSeat()
    judged(() => rememberKeyLog(device, log))
    isDone = settle(device, log) || copyWarning(state) !== null
  }
}

/**
 * Settles what became of an earlier renewal, and renews where the key is 90 days old, or where this
 * device was restored from before a renewal. Renews nothing once a copy of the keys was found.
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

/** At most so many renewals in 7 days. Throws AppError rate_limited, with Retry-After. */
function requireRoom({ identity, now }: Renewing): void {
  const { old } = identity.sealKeys.read()
  const [oldest] = old
  if (old.length < MOST_OLD || oldest === undefined) return
  const seconds = Math.max(1, Math.ceil((Math.min(oldest.since, now()) + KEPT_MS - now()) / 1000))
  throw new AppError(
    'rate_limited',
    `This device has renewed its sealing key ${MOST_OLD} times in 7 days, which is the most. Try again in ${Math.ceil(seconds / 3600)} hours.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

/**
 * Renews at the person's request. A key that was made before is not enough: it may have been
 * copied. Its entry may be on its way, so it is settled first.
 * @returns until when the old private half is kept, Unix milliseconds
 * @throws AppError rate_limited, invalid_state where a copy of the keys was found, and as
 *   `renewIfDue` does
 */
export async function renewNow(device: Renewing, account: Account): Promise<number> {
  requireNoCopy(device)
  requireRoom(device)
  if (device.identity.sealKeys.read().next !== null) await renew(device, account)
  await renew(device, account)
  requireNoCopy(device)
  return device.now() + KEPT_MS
}
