/**
 * Builds signed entries of a key log.
 *
 * Each builder verifies the entry that it made, so it never returns an invalid one. `at` is in Unix
 * seconds.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { ed25519 } from '../ed25519.ts'
import { accountIdOf, rawKeys, type LoggedKeys } from '../device-public-keys.ts'
import { publicKeys, type DeviceKeyPairs, type KeyPair } from '../device-keys.ts'
import { encodeBase64url } from '../encoding/base64url.ts'
import { NO_PREV } from './chain.ts'
import { recoveryInput, type Vouched } from './generations.ts'
import { thumbprint } from '../jose/jwk.ts'
import { entryHash } from '../jose/jws.ts'
import { signJws } from '../jose/jws-signature.ts'
import { verifyKeyLog, type KeyLog } from './key-log.ts'

/** An active device that signs: its id (`by`), and its key's thumbprint and seed (32 bytes). */
type DeviceSigner = { by: string; kid: string; seed: Uint8Array; at: number }
/** A new device, which signs the entry that adds it. */
type SelfSigned = { device: string; keys: DeviceKeyPairs; at: number }
/** A recovery key, or the `recovery_sig` that a recovery key made elsewhere (`vouchFor`). */
type Recovery = KeyPair | { readonly signature: string }

/** Returns a new salt of 32 random bytes. */
export const newSalt = (): Uint8Array => randomBytes(32)

/**
 * Returns the first entry of a new account, signed by its first device.
 *
 * The account id is derived from the keys and the salt.
 * @throws Refusal as `verifyKeyLog`; `bad_length`
 */
export function addFirst({ salt, ...of }: { salt: Uint8Array } & SelfSigned): {
  account: string
  entry: string
} {
  const signed = bySelf(of)
  const account = accountIdOf(rawKeys(signed.keys), salt)
  const what = { op: 'add', salt: encodeBase64url(salt), ...signed }
  return { account, entry: nextEntry(placeAfter(account, []), what, signed) }
}

/**
 * Returns the next entry of `log`, in which an active device adds another device.
 * @throws Refusal as `verifyKeyLog`; `bad_length` for the seed
 */
export function addDevice(
  of: { log: KeyLog; device: { id: string; keys: LoggedKeys } } & DeviceSigner,
): string {
  const { log, device, ...by } = of
  return nextEntry(placeIn(log), { op: 'add', device: device.id, keys: device.keys }, by)
}

/**
 * Returns the next entry of `log`, in which an active device revokes another device or itself.
 * @throws Refusal as `addDevice`
 */
export function revokeDevice(of: { log: KeyLog; device: string } & DeviceSigner): string {
  const { log, device, ...by } = of
  return nextEntry(placeIn(log), { op: 'revoke', device }, by)
}

/**
 * Returns the next entry of `log`, in which an active device replaces its own sealing key.
 *
 * The entry contains only the id of the new key.
 * @throws Refusal as `addDevice`
 */
export function renewSealKey(of: { log: KeyLog; seal: string } & DeviceSigner): string {
  const { log, seal, ...by } = of
  return nextEntry(placeIn(log), { op: 'renew', device: by.by, seal }, by)
}

/**
 * Returns the next entry of `log`, in which an active device names a recovery key.
 * @param of `key`: the public half of the recovery key; `inForce`: the active key that it replaces,
 * if the log has one
 * @throws Refusal as `addDevice`
 */
export function nameRecoveryKey(
  of: { log: KeyLog; key: KeyPair['jwk']; inForce?: Recovery } & DeviceSigner,
): string {
  const { log, key, inForce, ...by } = of
  const place = placeIn(log)
  const what = { op: 'recovery', key } as const
  return nextEntry(place, { ...what, ...vouch({ ...place.chain, ...what }, inForce) }, by)
}

/**
 * Returns the next entry of `log` after all devices were lost: a new device, signed by itself.
 *
 * If an active recovery key signs the entry too, the new generation is linked to the previous ones.
 * @throws Refusal as `addDevice`
 */
export function resetLog({ log, recovery, ...of }: ResetOf): string {
  const signed = bySelf(of)
  const place = placeIn(log)
  const what = { op: 'reset', device: of.device, keys: signed.keys } as const
  return nextEntry(place, { ...what, ...vouch({ ...place.chain, ...what }, recovery) }, signed)
}
type ResetOf = { log: KeyLog; recovery?: Recovery } & SelfSigned

function bySelf({ device, keys, at }: SelfSigned) {
  const by = { by: device, kid: thumbprint(keys.sign.jwk), seed: keys.sign.secret, at }
  return { device, keys: publicKeys(keys), ...by }
}

/**
 * Returns a recovery key's signature over an entry (`recovery_sig`), base64url.
 * @throws Refusal as `parseId`
 */
export const vouchFor = (entry: Vouched, { secret }: KeyPair): string =>
  encodeBase64url(ed25519.sign(recoveryInput(entry), secret))

function vouch(entry: Vouched, by: Recovery | undefined): { recovery_sig?: string } {
  if (by === undefined) return {}
  return { recovery_sig: 'signature' in by ? by.signature : vouchFor(entry, by) }
}

/**
 * Returns the place after a log's newest entry. An entry to be signed by a recovery key names it.
 */
export const placeAfterHead = (log: KeyLog): Place['chain'] => placeIn(log).chain

/** The place of a new entry: the entries before it, and the members that state the place. */
type Place = {
  before: readonly string[]
  /** The verified log of `before`; absent if `before` is empty. */
  known?: KeyLog
  chain: { account: string; seq: number; prev: string }
}
const placeIn = (log: KeyLog): Place => ({ ...placeAfter(log.account, log.entries), known: log })

function placeAfter(account: string, before: readonly string[]): Place {
  const last = before.at(-1)
  const prev = last === undefined ? NO_PREV : encodeBase64url(entryHash(last))
  return { before, chain: { account, seq: before.length, prev } }
}

type What = Partial<Record<'device' | 'salt' | 'seal' | 'recovery_sig', string>> & {
  op: string
  keys?: LoggedKeys
  key?: KeyPair['jwk']
}

function nextEntry(
  { before, known, chain }: Place,
  what: What,
  { by, kid, seed, at }: DeviceSigner,
): string {
  const { op, device, keys, salt, seal, key, recovery_sig } = what
  const members = { op, device, keys, salt, seal, key, recovery_sig }
  // JSON.stringify omits undefined members.
  const jws = signJws('keylog+jws', kid, { v: 2, ...chain, ...members, by, at }, seed)
  verifyKeyLog(chain.account, [...before, jws], known)
  return jws
}
