/**
 * Applies key log entries to the state of a log (section 3), and checks who may sign each entry.
 */
import { accountIdOf, rawKeys, type LoggedKeys } from '../device-public-keys.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { addGeneration, replaceRecoveryKey, type Generation, type Vouchers } from './generations.ts'
import { thumbprint } from '../jose/jwk.ts'
import type { ParsedJws } from '../jose/jws.ts'
import { verifyJws } from '../jose/jws-signature.ts'
import type { KeyLogEntry, EntryOf, FirstEntry, ResetEntry } from './key-log-form.ts'
import { requireThat, type RefusalReason } from '../refusal.ts'

type Renewal = { readonly seq: number; readonly seal: string }

export type LoggedDevice = {
  readonly id: string
  /** The keys that the device was added with. */
  readonly keys: LoggedKeys
  /** The signing key's thumbprint: the `kid` of every structure that this device signs. */
  readonly kid: string
  /** The id of the device's newest sealing key. */
  readonly seal: string
  /** The device's renewals in order: the seq of each entry, and the sealing key that it names. */
  readonly renewals: readonly Renewal[]
  /**
   * The seq of the entry that added the device, and of the one that revoked it (possibly a reset).
   */
  readonly addedAt: number
  readonly revokedAt: number | null
  /** 1 for devices before the first reset, and one more after each reset. */
  readonly generation: number
}

/** The state of a key log. Its collections only grow, so entries are added to them in place. */
export type KeyLogState = {
  /** In the order of addition. A revoked device stays in the map. */
  readonly devices: Map<string, LoggedDevice & { readonly renewals: Renewal[] }>
  /** The ids of devices that are not revoked. */
  readonly active: Set<string>
  readonly generations: Generation[]
  readonly vouchers: Map<string, string>
  /** Every public key that occurred in the log: the `x` of JWKs, and the ids of sealing keys. */
  readonly keys: Set<string>
}

/**
 * Returns a device that may sign as of entry `seq` of a log.
 * @throws Refusal `unknown_signer` if the device had not been added by then, `revoked_signer` if it
 * had been revoked by then
 */
export function signerAt<D extends Pick<LoggedDevice, 'addedAt' | 'revokedAt'>>(
  { devices }: { readonly devices: ReadonlyMap<string, D> },
  device: string,
  seq: number,
): D {
  const found = devices.get(device)
  const named = found !== undefined && found.addedAt <= seq
  requireThat(named, 'unknown_signer', 'the log has no device with this id')
  const active = found.revokedAt === null || found.revokedAt > seq
  requireThat(active, 'revoked_signer', 'the signing device is revoked')
  return found
}

/**
 * Checks that a device's signing key made this JWS.
 * @param proven whether this signature was verified earlier with this key
 * @throws Refusal `kid_mismatch`, `bad_signature`
 */
export function verifySignedBy(
  device: { readonly kid: string; readonly keys: Pick<LoggedKeys, 'sign'> },
  jws: ParsedJws,
  proven = false,
): void {
  requireThat(
    jws.kid === device.kid,
    'kid_mismatch',
    'kid does not name the signing key of the device',
  )
  if (!proven) verifyJws(jws, decodeBase64url(device.keys.sign.x))
}

/**
 * Returns the state after an entry, given the state before it (undefined at seq 0).
 *
 * Yields as `addGeneration` does.
 * @param proven whether the entry was verified earlier
 * @param vouchers the recovery keys that the earlier verification found, if they are still
 *   available
 * @throws Refusal for the first broken rule; see `verifyKeyLog`
 */
export function* applyKeyLogEntry(
  before: KeyLogState | undefined,
  entry: KeyLogEntry,
  hash: Uint8Array,
  { proven, vouchers }: { proven: boolean; vouchers: Vouchers | undefined },
): Generator<void, KeyLogState, void> {
  if (before === undefined) return firstState(entry as FirstEntry, proven)
  if (entry.op === 'reset') verifySelfSigned(entry, 'reset_not_self_signed', proven)
  else verifySignedBy(signerAt(before, entry.by, entry.seq - 1), entry.jws, proven)

  switch (entry.op) {
    case 'add':
      addDevice(before, entry)
      break
    case 'revoke':
      revokeDevice(before, entry)
      break
    case 'reset':
      yield* resetTo(before, entry, encodeBase64url(hash), { proven, vouchers })
      break
    case 'renew':
      renewSealingKey(before, entry)
      break
    case 'recovery':
      replaceRecoveryKey(before.generations, entry, proven)
      requireNewKey(before, entry.key.x)
      break
  }
  return before
}

function firstState(entry: FirstEntry, proven: boolean): KeyLogState {
  verifySelfSigned(entry, 'seq0_not_self_signed', proven)
  const certified = accountIdOf(rawKeys(entry.keys), decodeBase64url(entry.salt))
  const message = `the first keys make the account id ${certified}, not ${entry.account}`
  requireThat(certified === entry.account, 'account_mismatch', message)
  const generations = [{ root: 0, recovery: null, successor: null }]
  const state: KeyLogState = {
    devices: new Map(),
    active: new Set(),
    generations,
    vouchers: new Map(),
    keys: new Set(),
  }
  addDevice(state, entry)
  return state
}

/** Checks the first entry or a reset. Both name a device, which must itself sign the entry. */
function verifySelfSigned(
  entry: EntryOf<'add'> | ResetEntry,
  otherwise: RefusalReason,
  proven: boolean,
): void {
  const kid = thumbprint(entry.keys.sign)
  const own = entry.by === entry.device && entry.jws.kid === kid
  requireThat(own, otherwise, 'the entry is not signed by the device that it names')
  verifySignedBy({ kid, keys: entry.keys }, entry.jws, proven)
}

function* resetTo(
  state: KeyLogState,
  entry: ResetEntry,
  hash: string,
  { proven, vouchers }: { proven: boolean; vouchers: Vouchers | undefined },
): Generator<void, void, void> {
  const before = { proven, voucher: vouchers?.get(hash) }
  const voucher = yield* addGeneration(state.generations, entry, before)
  if (voucher !== null) state.vouchers.set(hash, voucher)
  revokeAll(state, entry.seq)
  addDevice(state, entry)
}

function addDevice(
  state: KeyLogState,
  { device: id, keys, seq }: EntryOf<'add'> | ResetEntry,
): void {
  requireThat(
    !state.devices.has(id),
    'duplicate_device',
    'a device id must occur only once in a log',
  )
  for (const key of [keys.sign.x, keys.seal, keys.auth.x]) requireNewKey(state, key)
  state.devices.set(id, {
    id,
    keys,
    kid: thumbprint(keys.sign),
    seal: keys.seal,
    renewals: [],
    addedAt: seq,
    revokedAt: null,
    generation: state.generations.length,
  })
  state.active.add(id)
}

function revokeDevice(state: KeyLogState, { device: id, seq }: EntryOf<'revoke'>): void {
  const device = state.devices.get(id)
  requireThat(device !== undefined, 'unknown_device', 'the log does not have the device to revoke')
  requireThat(device.revokedAt === null, 'already_revoked', 'the device is already revoked')
  markRevoked(state, id, seq)
}

/** Visits only the active devices, because a log with many resets has many revoked ones. */
function revokeAll(state: KeyLogState, seq: number): void {
  for (const id of state.active) markRevoked(state, id, seq)
}

/** Setting a key of a map again keeps its position, so the order of addition does not change. */
function markRevoked({ devices, active }: KeyLogState, id: string, seq: number): void {
  devices.set(id, { ...devices.get(id)!, revokedAt: seq })
  active.delete(id)
}

function renewSealingKey(
  state: KeyLogState,
  { by, device: id, seal, seq }: EntryOf<'renew'>,
): void {
  requireThat(by === id, 'renew_not_self_signed', 'a device may renew only its own sealing key')
  requireNewKey(state, seal)
  const device = state.devices.get(id)!
  device.renewals.push({ seq, seal })
  state.devices.set(id, { ...device, seal })
}

function requireNewKey({ keys }: KeyLogState, key: string): void {
  requireThat(!keys.has(key), 'duplicate_key', 'a public key must occur only once in a log')
  keys.add(key)
}
