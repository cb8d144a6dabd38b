/**
 * The key log of an account (section 3): which devices it has and had. Any verifier recomputes it
 * from the entries alone; a log that breaks a rule is refused whole. `at` decides nothing.
 */
import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { follow, NO_PREV, type Known } from './chain.ts'
import { publicKeys, type DeviceJwks, type DeviceKeys } from './device-keys-v1.ts'
import type { Generations } from './generations.ts'
import { PREFIX } from './id.ts'
import { jwkForm, thumbprint, type PublicJwk } from './jwk.ts'
import { hashOf, parseJws, type ParsedJws } from './jws.ts'
import { isSigningKey, signJws, verifyJws } from './jws-signature.ts'
import { base64url, exactly, id, jwk, natural, oneOf, payload, record, text } from './payload.ts'
import type { Kind } from './payload.ts'
import { demand, Refusal, type Reason } from './refusal.ts'

export type Device = {
  id: string
  keys: DeviceJwks
  /** Thumbprint of the signing key: the `kid` of whatever this device signs. */
  kid: string
  /** The seq of the entry that named it, and of the one that revoked it (a reset included). */
  addedAt: number
  revokedAt: number | null
  /** 1 for the first devices of an account, one more after each reset. */
  generation: number
}

export type KeyLog = {
  account: string
  /** The last entry and its hash, 32 bytes. */
  seq: number
  head: Uint8Array
  /** The hash of every entry, by seq. */
  heads: readonly Uint8Array[]
  generation: number
  /** As a log of version 2 has them: none of version 1 is linked to another. */
  generations: Generations
  /** `changed_unverified` once a reset is in the log: followers confirm the account anew. */
  status: 'ok' | 'changed_unverified'
  /** As received. */
  entries: readonly string[]
  /** Every device that the log ever named, by id, in order of addition. */
  devices: ReadonlyMap<string, Device>
  /** The unrevoked ones, in order of addition. */
  active: readonly Device[]
}

/** As `jwk`, except that the group is looked at once for a key. */
const signingKey: Kind<PublicJwk> = (value) => {
  const key = record({ kty: text, crv: text, x: text })(value) as PublicJwk
  demand(isSigningKey(jwkForm(key, 'Ed25519')), 'bad_key', 'not a point of the prime-order group')
  return key
}

const OPS = ['add', 'revoke', 'reset'] as const
const readEntry = payload(
  {
    account: id(PREFIX.account),
    seq: natural,
    prev: base64url(32),
    op: oneOf(OPS, 'bad_op'),
    device: id(PREFIX.device),
    by: id(PREFIX.device),
    at: natural,
  },
  { keys: record({ sign: signingKey, seal: jwk('X25519'), auth: signingKey }) },
)
type Payload = ReturnType<typeof readEntry>
type Entry = Payload & { jws: ParsedJws }
/** Who signs: an active device, the thumbprint and the seed (32 bytes) of its signing key. */
type Signed = { by: string; kid: string; seed: Uint8Array; at: number }
/** A device that signs for itself. `at` is Unix seconds here as there. */
type SelfSigned = { device: string; keys: DeviceKeys; at: number }
/** Both only grow, and a device that is revoked keeps its place; `keys` are the x of all JWKs. */
type State = { devices: Map<string, Device>; keys: Set<string>; generation: number }

/**
 * Verifies the whole log of `account`. `entries` are the JWSs in order; `known` is the highest
 * place this device has seen of it. Throws the first rule broken: those of `parseJws`, of the
 * payload, of the chain (`fork`, `gap`, `rollback` …), `wrong_account`, `bad_op`,
 * `seq0_not_self_signed`, `reset_not_self_signed`, `unknown_signer`, `revoked_signer`,
 * `kid_mismatch`, `bad_signature`, `duplicate_device`, `duplicate_key`, `unknown_device`,
 * `already_revoked`.
 */
export function verifyKeyLog(account: string, entries: readonly string[], known?: Known): KeyLog {
  const read = (text: string): Entry => {
    const jws = parseJws(text, 'keylog+jws')
    const entry = readEntry(jws.payload)
    exactly(entry, ['keys'], entry.op === 'revoke' ? [] : ['keys'])
    demand(entry.account === account, 'wrong_account', 'an entry of another account')
    return { ...entry, jws }
  }
  const { state, heads } = follow<Entry, State>(entries, { read, apply, forked: 'fork' }, known)
  return {
    account,
    seq: heads.length - 1,
    head: heads.at(-1)!,
    heads,
    generation: state.generation,
    generations: Array.from({ length: state.generation }, (_, index) => ({
      root: rootOf(state.devices, index + 1),
      recovery: null,
      successor: null,
    })),
    status: state.generation === 1 ? 'ok' : 'changed_unverified',
    entries,
    devices: state.devices,
    active: [...state.devices.values()].filter((device) => device.revokedAt === null),
  }
}

/** The number of the first entry of a generation. */
const rootOf = (devices: ReadonlyMap<string, Device>, generation: number): number =>
  [...devices.values()].find((device) => device.generation === generation)!.addedAt

/**
 * The device that may sign as of entry `seq` of a log. Throws `unknown_signer` when the log does
 * not name it by then, `revoked_signer` when it is revoked by then.
 */
export function signerAt(log: Pick<KeyLog, 'devices'>, device: string, seq: number): Device {
  const found = log.devices.get(device)
  demand(
    found !== undefined && found.addedAt <= seq,
    'unknown_signer',
    'the log has no such device',
  )
  const active = found.revokedAt === null || found.revokedAt > seq
  demand(active, 'revoked_signer', 'the signing device is revoked')
  return found
}

/** The generation of a log as of its entry `seq`: 1, and one more for each reset until then. */
export function generationAt(log: Pick<KeyLog, 'devices'>, seq: number): number {
  const named = [...log.devices.values()].filter(({ addedAt }) => addedAt <= seq)
  return named.at(-1)?.generation ?? 1
}

/**
 * The root of a generation: the first entry of the log that names one of its devices, by its seq,
 * and the hash of that entry, 32 bytes. Anybody can sign a first entry, or a reset, in the id of
 * any account; every later entry of the generation rests on this one.
 */
export function generationRoot(
  { devices, heads }: Pick<KeyLog, 'devices' | 'heads'>,
  generation: number,
): { seq: number; hash: Uint8Array } {
  const first = [...devices.values()].find((device) => device.generation === generation)
  if (first === undefined) throw new Error(`the log has no generation ${generation}`)
  return { seq: first.addedAt, hash: heads[first.addedAt]! }
}

/**
 * The longer of two lists of entries of one key log: `given` by someone, and `remembered` here. A
 * list that ends before a revocation is so completed by the one remembered.
 * Throws `fork` where they contradict each other, and what `verifyKeyLog` throws where `given`
 * breaks a rule by itself.
 */
export function completeLog(
  account: string,
  given: readonly string[],
  remembered: readonly string[],
): readonly string[] {
  const other = given.findIndex((jws, seq) => seq < remembered.length && jws !== remembered[seq])
  if (other !== -1) {
    verifyKeyLog(account, given)
    throw new Refusal('fork', `entry ${other} is not the one remembered here`, { entry: other })
  }
  return given.length < remembered.length ? remembered : given
}

/** Throws `kid_mismatch` or `bad_signature` unless the device's signing key made this JWS. */
export function verifySignedBy(device: Device, jws: ParsedJws): void {
  demand(jws.kid === device.kid, 'kid_mismatch', 'kid is not the signing key of the device')
  verifyJws(jws, decodeBase64url(device.keys.sign.x))
}

/**
 * The first entry of a new account: its first device, signed by itself. `at` is Unix seconds. Out:
 * the JWS, which `verifyKeyLog` accepts as a log of one; throws as that does.
 */
export function addFirst({ account, ...of }: { account: string } & SelfSigned): string {
  return nextEntry(account, [], { op: 'add', ...bySelf(of) })
}

/**
 * The next entry of `log`, by which an active device adds another. Out: the JWS, which
 * `verifyKeyLog` accepts after those of `log`; throws as that does, `bad_length` for the seed.
 */
export function addDevice(
  of: { log: KeyLog; device: { id: string; keys: DeviceJwks } } & Signed,
): string {
  const { log, device, ...signed } = of
  return nextEntry(log.account, log.entries, {
    op: 'add',
    device: device.id,
    keys: device.keys,
    ...signed,
  })
}

/** The next entry of `log`, by which an active device revokes one, or itself. As `addDevice`. */
export function revokeDevice({ log, ...of }: { log: KeyLog; device: string } & Signed): string {
  return nextEntry(log.account, log.entries, { op: 'revoke', ...of })
}

/** The next entry of `log` when all devices are lost: a new one, by itself. As `addDevice`. */
export function resetLog({ log, ...of }: { log: KeyLog } & SelfSigned): string {
  return nextEntry(log.account, log.entries, { op: 'reset', ...bySelf(of) })
}

function bySelf({ device, keys, at }: SelfSigned) {
  const signer = { by: device, kid: thumbprint(keys.sign.jwk), seed: keys.sign.secret }
  return { device, keys: publicKeys(keys), at, ...signer }
}

function nextEntry(
  account: string,
  before: readonly string[],
  { kid, seed, ...of }: Pick<Payload, 'op' | 'device' | 'keys'> & Signed,
): string {
  const last = before.at(-1)
  const prev = last === undefined ? NO_PREV : encodeBase64url(hashOf(last))
  const { op, device, keys, by, at } = of
  const head = { v: 1, account, seq: before.length, prev, op, device }
  const entry = { ...head, ...(keys === undefined ? {} : { keys }), by, at }
  const jws = signJws('keylog+jws', kid, entry, seed)
  verifyKeyLog(account, [...before, jws])
  return jws
}

function apply(before: State | undefined, entry: Entry): State {
  if (before === undefined) {
    demand(entry.op === 'add', 'bad_op', 'a log begins with add')
    const nothing = { devices: new Map(), keys: new Set<string>(), generation: 1 }
    return begin(nothing, entry, 'seq0_not_self_signed')
  }
  if (entry.op === 'reset') {
    for (const device of before.devices.values()) {
      if (device.revokedAt === null) revoke(before, device, entry)
    }
    const after = { ...before, generation: before.generation + 1 }
    return begin(after, entry, 'reset_not_self_signed')
  }
  verifySignedBy(signerAt(before, entry.by, entry.seq - 1), entry.jws)
  if (entry.op === 'add') return withDevice(before, entry)

  const target = before.devices.get(entry.device)
  demand(target !== undefined, 'unknown_device', 'the log has no device to revoke')
  demand(target.revokedAt === null, 'already_revoked', 'the device is revoked already')
  revoke(before, target, entry)
  return before
}

/** The first entry and a reset name a device that vouches for itself. */
function begin(before: State, entry: Entry, otherwise: Reason): State {
  const own = entry.by === entry.device && entry.jws.kid === thumbprint(entry.keys!.sign)
  demand(own, otherwise, 'signed by another device than the one it names')
  const after = withDevice(before, entry)
  verifySignedBy(after.devices.get(entry.device)!, entry.jws)
  return after
}

function withDevice(state: State, entry: Entry): State {
  const { devices, generation } = state
  const keys = entry.keys!
  demand(!devices.has(entry.device), 'duplicate_device', 'a device id occurs once in a log')
  for (const { x } of Object.values(keys)) {
    demand(!state.keys.has(x), 'duplicate_key', 'a public key occurs once in a log')
    state.keys.add(x)
  }
  const kid = thumbprint(keys.sign)
  const { device: id, seq: addedAt } = entry
  devices.set(id, { id, keys, kid, addedAt, revokedAt: null, generation })
  return state
}

/** A map keeps the place of a key that is set again, and so the order of addition. */
function revoke({ devices }: State, device: Device, { seq }: Entry): void {
  devices.set(device.id, { ...device, revokedAt: seq })
}
