/**
 * Renewing the sealing key of this device (protocol, section 3). The private half is in the keychain
 * before the key log can name the key; the log afterwards shows whether it was accepted. So a
 * crash, or an answer that was lost, leaves nothing that the next run does not settle, and two runs at
 * once post the same key.
 */
import type { Account } from '../api/port.ts'
import { encodeBase64url } from '../crypto/base64url.ts'
import { sealKeyId } from '../crypto/device-public-keys.ts'
import type { KeyLog } from '../crypto/key-log.ts'
import { renewSealKey } from '../crypto/key-log-entries.ts'
import { newSealKey } from '../crypto/seal-key.ts'
import { AppError } from '../errors.ts'
import { type Remembering, continueKeyLog, rememberKeyLog } from './key-log.ts'
import type { OwnSealKey } from './own-keys.ts'
import { type Sealing, KEPT_MS, isOld } from './seal-schedule.ts'
import { revokedHere } from './sign-in-refusals.ts'

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
 * Updates the keychain by the sealing key that the own key log names for this device.
 * @returns whether the newest key that the log names is held here; it is not where the state of this
 *   device was restored from before a renewal
 */
function settle({ identity, now }: Renewing, log: KeyLog): boolean {
  const { sealKeys } = identity
  const kept = sealKeys.read()
  const { newest, next, old } = kept
  const own = log.devices.get(identity.device)
  if (own === undefined) return true
  const isNext = own.seal === next?.id
  const isHeld = isNext || own.seal === newest.id
  const seq = isHeld ? log.seq : null
  const since = now()
  if (next !== null && isNext)
    sealKeys.keep({ newest: next, next: null, old: [...old, { id: newest.id, since }], seq })
  else if (next !== null && own.renewals.some(({ seal }) => seal === next.id))
    // The log named it, and another one since.
    sealKeys.keep({ newest, next: null, old: [...old, { id: next.id, since }], seq })
  else if (seq !== kept.seq) sealKeys.keep({ ...kept, seq })
  return isHeld
}

/** Gives this device a sealing key that is newer than the one the log names now. */
async function renew(device: Renewing, account: Account): Promise<void> {
  const { state, identity, now, demandSeat } = device
  const { sign } = await identity.keys()
  const by = { by: identity.device, kid: identity.kid, seed: sign.secret }
  for (let isHeld = false; !isHeld;) {
    const { id: seal, key: seal_key } = await nextKey(device)
    const entryAfter = (log: KeyLog) => {
      const own = log.devices.get(identity.device)
      if (own === undefined || own.revokedAt !== null) throw revokedHere()
      if (own.renewals.some((one) => one.seal === seal)) return null
      return renewSealKey({ log, seal, ...by, at: Math.floor(now() / 1000) })
    }
    const log = await continueKeyLog(state, account, identity.account, entryAfter, { seal_key })
    demandSeat()
    rememberKeyLog(device, log)
    isHeld = settle(device, log)
  }
}

/**
 * Settles what became of an earlier renewal, and renews where the key is 90 days old or the log names
 * one that is not held here.
 * @throws AppError as `continueKeyLog` does, keychain_locked
 */
export async function renewIfDue(device: Renewing, account: Account): Promise<void> {
  const isHeld = settle(device, await device.identity.keyLog())
  const { newest, next } = device.identity.sealKeys.read()
  if (!isHeld || next !== null || isOld(newest, device.now())) await renew(device, account)
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
 * @throws AppError rate_limited, and as `renewIfDue` does
 */
export async function renewNow(device: Renewing, account: Account): Promise<number> {
  requireRoom(device)
  if (device.identity.sealKeys.read().next !== null) await renew(device, account)
  await renew(device, account)
  return device.now() + KEPT_MS
}
