/** Section 3: verification of a whole key log. */
import { accountOf, type PublicKeys } from './account-id.ts'
import { base64url, type Bytes, concat, hex, need, Refused, same } from './bytes.ts'
import { checkPlace, type Entry, type Known, place, walk } from './chain.ts'
import { verifySignature } from './edwards.ts'
import { accountAt, deviceAt, raw } from './ids.ts'
import { bytesAt, countAt, exactly, objectAt, textAt, versionTwo } from './json.ts'
import { keyOf, parseJws, thumbprint, verifyJws } from './jws.ts'
import { recoveryInput } from './recovery.ts'

type Op = 'add' | 'revoke' | 'reset' | 'renew' | 'recovery'

interface KeyEntry extends Entry {
  readonly account: string
  readonly op: Op
  readonly device: string | null
  readonly keys: PublicKeys | null
  readonly salt: Bytes | null
  /** The new sealing key of a `renew`. */
  readonly seal: Bytes | null
  /** The new key of a `recovery`. */
  readonly key: Bytes | null
  readonly recoverySig: Bytes | null
  readonly by: string
}

interface Device {
  readonly sign: Bytes
  readonly auth: Bytes
  readonly seals: readonly Bytes[]
  readonly addedAt: number
  readonly addedBy: 'add' | 'reset'
  readonly revokedAt: number | null
}

interface Generation {
  /** Place and hash of its first entry. */
  readonly first: number
  readonly root: Bytes
  /** The recovery key that signed the reset at its beginning. */
  readonly madeBy: Bytes | null
  /** The key of its last `recovery`. */
  readonly named: Bytes | null
}

interface State {
  readonly account: string
  readonly devices: ReadonlyMap<string, Device>
  readonly generations: readonly Generation[]
  /** Every public key and sealing hash that the log named, in hex. */
  readonly used: ReadonlySet<string>
}

export interface KeyLog {
  readonly account: string
  readonly entries: readonly KeyEntry[]
  readonly states: readonly State[]
}

const COMMON = ['v', 'account', 'seq', 'prev', 'op', 'by', 'at']
const OWN: Readonly<Record<Op, readonly string[]>> = {
  add: ['device', 'keys'],
  revoke: ['device'],
  reset: ['device', 'keys'],
  renew: ['device', 'seal'],
  recovery: ['key'],
}
const ALL = ['device', 'keys', 'salt', 'seal', 'key', 'recovery_sig']

/** Parses the form of an entry. */
function read(text: string): KeyEntry {
  const jws = parseJws(text, 'keylog+jws')
  const { payload } = jws
  versionTwo(payload)
  const op = textAt(payload, 'op') as Op
  need(Object.hasOwn(OWN, op), 'bad_op')
  const seq = countAt(payload, 'seq')
  need(seq > 0 || op === 'add', 'bad_op')
  const salted = seq === 0 ? ['salt'] : []
  const signed = op === 'reset' || op === 'recovery' ? ['recovery_sig'] : []
  exactly(payload, [...COMMON, ...OWN[op], ...salted], signed, ALL)
  checkPlace('keylog', op, seq)
  countAt(payload, 'at')
  return {
    ...place(jws),
    account: accountAt(payload, 'account'),
    op,
    device: payload.has('device') ? deviceAt(payload, 'device') : null,
    keys: payload.has('keys') ? readKeys() : null,
    salt: payload.has('salt') ? bytesAt(payload, 'salt', 32) : null,
    seal: payload.has('seal') ? bytesAt(payload, 'seal', 32) : null,
    key: payload.has('key') ? keyOf(payload.get('key')) : null,
    recoverySig: payload.has('recovery_sig') ? bytesAt(payload, 'recovery_sig', 64) : null,
    by: deviceAt(payload, 'by'),
  }

  function readKeys(): PublicKeys {
    const keys = objectAt(payload, 'keys')
    exactly(keys, ['sign', 'seal', 'auth'])
    return {
      sign: keyOf(keys.get('sign')),
      seal: bytesAt(keys, 'seal', 32),
      auth: keyOf(keys.get('auth')),
    }
  }
}

/**
 * Returns the recovery key in force in a generation: the last one named, else the one that made
 * it.
 */
const inForce = (generation: Generation): Bytes | null => generation.named ?? generation.madeBy

function apply(before: State | null, entry: KeyEntry): State {
  need(before === null || entry.account === before.account, 'wrong_account')
  checkSigner(before, entry)
  if (before === null) {
    const first = accountOf(entry.keys!, entry.salt!)
    need(same(first, raw(entry.account)), 'account_mismatch')
  }
  if (entry.op === 'reset') need(before!.generations.length < GENERATIONS, 'log_full')
  const madeBy = checkRecoverySig(before, entry)
  if (entry.op === 'reset') checkLastGenerations(before!.generations, madeBy)
  const used = new Set(before?.used)
  for (const key of namedKeys(entry)) {
    need(!used.has(hex(key)), 'duplicate_key')
    used.add(hex(key))
  }
  const devices = new Map(before?.devices)
  const generations = [...(before?.generations ?? [])]
  const { seq } = entry

  if (entry.op === 'add' || entry.op === 'reset') {
    need(!devices.has(entry.device!), 'duplicate_device')
    if (entry.op === 'reset')
      for (const [id, device] of devices)
        devices.set(id, { ...device, revokedAt: device.revokedAt ?? seq })
    devices.set(entry.device!, {
      sign: entry.keys!.sign,
      auth: entry.keys!.auth,
      seals: [entry.keys!.seal],
      addedAt: seq,
      addedBy: entry.op,
      revokedAt: null,
    })
    if (seq === 0 || entry.op === 'reset')
      generations.push({ first: seq, root: entry.jws.hash, madeBy, named: null })
  }
  if (entry.op === 'revoke') {
    const device = devices.get(entry.device!)
    if (device === undefined) throw new Refused('unknown_device')
    need(device.revokedAt === null, 'already_revoked')
    devices.set(entry.device!, { ...device, revokedAt: seq })
  }
  if (entry.op === 'renew') {
    const device = devices.get(entry.device!)!
    devices.set(entry.device!, { ...device, seals: [...device.seals, entry.seal!] })
  }
  if (entry.op === 'recovery') generations.push({ ...generations.pop()!, named: entry.key! })
  return { account: entry.account, devices, generations, used }
}

const GENERATIONS = 256
/** From here on a reset needs a recovery signature. */
const UNSIGNED = 240

/**
 * Checks that the key linked to the first generation, if any, begins the last ones (section 3).
 */
function checkLastGenerations(before: readonly Generation[], madeBy: Bytes | null): void {
  if (before.length < UNSIGNED) return
  need(madeBy !== null, 'log_full')
  let [linked] = before as [Generation]
  for (const generation of before.slice(1)) {
    const key = inForce(linked)
    if (key !== null && generation.madeBy !== null && same(key, generation.madeBy))
      linked = generation
  }
  const key = inForce(linked)
  need(key === null || same(key, madeBy!), 'log_full')
}

function namedKeys(entry: KeyEntry): Bytes[] {
  const keys = entry.keys === null ? [] : [entry.keys.sign, entry.keys.seal, entry.keys.auth]
  return [...keys, entry.seal, entry.key].filter((key) => key !== null)
}

/** Checks the signer and its signature. */
function checkSigner(before: State | null, entry: KeyEntry): void {
  const { op, by, device } = entry
  const itself = before === null || op === 'reset'
  let key: Bytes
  if (itself) {
    const reason = before === null ? 'seq0_not_self_signed' : 'reset_not_self_signed'
    need(by === device && entry.jws.kid === thumbprint(entry.keys!.sign), reason)
    key = entry.keys!.sign
  } else {
    if (op === 'renew') need(by === device, 'renew_not_self_signed')
    const signer = before.devices.get(by)
    if (signer === undefined) throw new Refused('unknown_signer')
    need(signer.revokedAt === null, 'revoked_signer')
    need(entry.jws.kid === thumbprint(signer.sign), 'kid_mismatch')
    key = signer.sign
  }
  verifyJws(entry.jws, key)
}

/** Checks `recovery_sig` of a reset or a recovery; returns the key that made it. */
function checkRecoverySig(before: State | null, entry: KeyEntry): Bytes | null {
  if (before === null || (entry.op !== 'reset' && entry.op !== 'recovery')) return null
  const signature = entry.recoverySig
  const [account, { seq, prev }] = [raw(entry.account), entry]
  if (entry.op === 'recovery') {
    const key = inForce(before.generations.at(-1)!)
    if (key === null) {
      need(signature === null, 'superfluous_member')
      return null
    }
    need(signature !== null, 'missing_recovery_sig')
    const input = recoveryInput(2, account, seq, prev, entry.key!)
    need(verifySignature(key, input, signature), 'bad_recovery_sig')
    return null
  }
  if (signature === null) return null
  const { sign, seal, auth } = entry.keys!
  const body = concat(raw(entry.device!), sign, seal, auth)
  const input = recoveryInput(1, account, seq, prev, body)
  const found = before.generations
    .map(inForce)
    .find((key) => key !== null && verifySignature(key, input, signature))
  if (found === undefined || found === null) throw new Refused('bad_recovery_sig')
  return found
}

/**
 * Verifies the log of `account`, entries in the order received.
 * @throws Refused with a reason of the kit
 */
export function verifyKeyLog(
  account: string,
  texts: readonly string[],
  known: Known | null = null,
): KeyLog {
  const asked = (text: string): KeyEntry => {
    const entry = read(text)
    need(entry.account === account, 'wrong_account')
    return entry
  }
  return { account, ...walk(texts, known, 'key_log_forked', asked, apply) }
}

export const newest = (log: KeyLog): State => log.states.at(-1)!
/** Returns the generation of a place, the first being 1. */
export const generationAt = (log: KeyLog, seq: number): number =>
  log.states[seq]!.generations.length

/** Returns whether this log has `head` at `seq`. */
export const fits = (log: KeyLog, seq: number, head: Bytes): boolean =>
  seq < log.entries.length && same(log.entries[seq]!.jws.hash, head)

/** Returns the device in its state right after the entry at `seq`. */
export const deviceAtPlace = (log: KeyLog, seq: number, device: string): Device | undefined =>
  log.states[seq]!.devices.get(device)

/** Returns whether generation `g` is linked to `p`, both counted from 1 (section 3). */
export function isLinked(log: KeyLog, g: number, p: number): boolean {
  if (g === p) return true
  if (g < p) return false
  const { generations } = newest(log)
  const { madeBy } = generations[g - 1]!
  if (madeBy === null) return false
  for (let earlier = g - 1; earlier >= p; earlier--)
    if (isLinked(log, earlier, p)) {
      const key = inForce(generations[earlier - 1]!)
      return key !== null && same(key, madeBy)
    }
  return false
}

/** Returns whether a place after `covered` revokes or resets. */
export const exitsAfter = (log: KeyLog, covered: number): boolean =>
  log.entries.slice(covered + 1).some(({ op }) => op === 'revoke' || op === 'reset')

/** The result of an accepted case of `keylog.json`. */
export interface KeyLogSummary {
  readonly head_hex: string
  readonly seq: number
  readonly generation: number
  readonly linked_to: readonly number[]
  /** The recovery key in force in the newest generation, or null. */
  readonly recovery: string | null
  /** Active devices in the order of their addition. */
  readonly active: readonly string[]
  readonly seals: Readonly<Record<string, string>>
}

export function summary(log: KeyLog): KeyLogSummary {
  const { devices, generations } = newest(log)
  const active = [...devices].filter(([, device]) => device.revokedAt === null)
  const recovery = inForce(generations.at(-1)!)
  const count = generations.length
  const all = Array.from({ length: count }, (_, i) => i + 1)
  return {
    head_hex: hex(log.entries.at(-1)!.jws.hash),
    seq: log.entries.length - 1,
    generation: count,
    linked_to: all.filter((p) => isLinked(log, count, p)),
    recovery: recovery === null ? null : base64url(recovery),
    active: active.map(([id]) => id),
    seals: Object.fromEntries(active.map(([id, { seals }]) => [id, base64url(seals.at(-1)!)])),
  }
}

/** Returns the hash of the first entry of the newest generation (section 3). */
export const rootOf = (log: KeyLog): Bytes => newest(log).generations.at(-1)!.root
