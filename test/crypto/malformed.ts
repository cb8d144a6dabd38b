/**
 * Malformed entries that every roster and key log refuses, by their fault.
 * A device that follows no rule signs them.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { nonceWith, signatureWith, TORSION } from './crafted.ts'
import { newDeviceKeys } from './keys.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

/** Returns a signature with a torsion component in R. */
const torsionSignature = (message: Uint8Array, seed: Uint8Array): Uint8Array =>
  signatureWith({ R: nonceWith(TORSION), message, seed })

/** Returns the public key of a seed plus a point of order 8, base64url. */
export const torsionKey = (seed: Uint8Array): string =>
  encodeBase64url(ed25519.utils.getExtendedPublicKey(seed).point.add(TORSION).toBytes())

type Sign = (message: Uint8Array, seed: Uint8Array) => Uint8Array

/** Returns a JWS with the header of another over any text as payload. */
export function signedText(
  like: string,
  payload: string,
  seed: Uint8Array,
  sign: Sign = ed25519.sign,
): string {
  const input = `${like.split('.')[0]}.${encodeBase64url(utf8(payload))}`
  return `${input}.${encodeBase64url(sign(utf8(input), seed))}`
}

type Malformed = [what: string, entry: string, reason: RefusalReason]

const payloadOf = (jws: string) =>
  JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

/** Returns malformed forms of a valid entry that every signed structure refuses. */
function malformedForms(good: string, seed: Uint8Array): Malformed[] {
  const payload = payloadOf(good)
  const signed = (text: string, sign?: Sign) => signedText(good, text, seed, sign)
  /** Returns the entry with one more member, as text. */
  const more = (member: string) => signed(JSON.stringify(payload).replace(/\}$/, `,${member}}`))
  return [
    ['level 9', more('"x":[[[[[[[[[]]]]]]]]]'), 'too_deep'],
    ['2^53', signed(JSON.stringify({ ...payload, at: 2 ** 53 })), 'bad_value'],
    ['a lone surrogate', more(String.raw`"x":"\ud800"`), 'lone_surrogate'],
    ['place 100,000', signed(JSON.stringify({ ...payload, seq: 100_000 })), 'log_full'],
    ['torsion in R', signed(JSON.stringify(payload), torsionSignature), 'bad_signature'],
  ]
}

/** Returns every op with each member that it does not use. */
const superfluousIn = (
  ops: Readonly<Record<string, readonly string[]>>,
  others: Readonly<Record<string, unknown>>,
  entryOf: (members: Record<string, unknown>) => string,
): Malformed[] =>
  Object.entries(ops).flatMap(([op, uses]) => {
    const members = Object.entries(others).filter(([name]) => uses.includes(name))
    const extra = Object.entries(others).filter(([name]) => !uses.includes(name))
    return extra.map(([name, value]): Malformed => [
      `${op} with ${name}`,
      entryOf({ op, ...Object.fromEntries(members), [name]: value }),
      name === 'k_commit' ? 'superfluous_k_commit' : 'superfluous_member',
    ])
  })

/** The members of each op of a roster, with or without need, besides those of every entry. */
const ROSTER_OPS = {
  add: ['member', 'member_log', 'role', 'consent'],
  remove: ['member', 'k_commit', 'logs'],
  role: ['member', 'role'],
  leave: [],
  rotate: ['k_commit', 'logs'],
  confirm: ['member', 'member_log', 'k_commit', 'logs'],
  end: [],
}

/** Returns well-formed rows of `logs`: one account at a place of its log. */
const rowsOf = (account: unknown, log: unknown) => [{ account, ...(log as object) }]

/**
 * Returns malformed entries of a roster.
 * @param rotation the next entry, a valid rotation; signed with `seed` (32 bytes)
 */
export function malformedEntries(rotation: string, seed: Uint8Array): Malformed[] {
  const { connection, actor, actor_log, k_commit, ...rest } = payloadOf(rotation)
  const own = { connection, actor, actor_log }
  const others = {
    member: actor,
    member_log: actor_log,
    role: 'member',
    consent: 'x',
    k_commit,
    logs: rowsOf(actor, actor_log),
    replaces: connection,
  }
  const entryOf = (members: object) =>
    signedText(rotation, JSON.stringify({ ...rest, ...own, ...members }), seed)
  return [...malformedForms(rotation, seed), ...superfluousIn(ROSTER_OPS, others, entryOf)]
}

/**
 * Returns malformed openings of a connection.
 * @param opening the first entry, valid; signed with `seed` (32 bytes)
 */
export function malformedOpenings(opening: string, seed: Uint8Array): Malformed[] {
  const { connection, actor: member, actor_log: member_log, k_commit, ...rest } = payloadOf(opening)
  const own = { connection, actor: member, actor_log: member_log }
  const logs = rowsOf(member, member_log)
  const others = { member, member_log, role: 'owner', consent: 'x', k_commit, logs }
  const entryOf = (members: object) =>
    signedText(opening, JSON.stringify({ ...rest, ...own, ...members }), seed)
  return [
    ...malformedForms(opening, seed),
    ...superfluousIn({ open: ['k_commit'] }, others, entryOf),
  ]
}

/**
 * The members of each op of a key log besides those of every entry.
 * A reset may have a `recovery_sig`.
 */
const KEY_LOG_OPS = {
  add: ['device', 'keys'],
  revoke: ['device'],
  reset: ['device', 'keys', 'recovery_sig'],
  renew: ['device', 'seal'],
  recovery: ['key'],
}

/**
 * Returns malformed entries of a key log.
 * @param renewal the next entry, a valid renewal; signed with `seed` (32 bytes)
 */
export function malformedKeyLogEntries(renewal: string, seed: Uint8Array): Malformed[] {
  const { seal, device, ...rest } = payloadOf(renewal)
  const keys = publicKeys(newDeviceKeys())
  const others = {
    device,
    keys,
    seal,
    salt: encodeBase64url(new Uint8Array(32)),
    key: keys.auth,
    recovery_sig: encodeBase64url(new Uint8Array(64)),
  }
  const entryOf = (members: object) =>
    signedText(renewal, JSON.stringify({ ...rest, ...members }), seed)
  const bad = { ...keys.sign, x: torsionKey(seed) }
  const adds = (changed: object) => entryOf({ op: 'add', device, keys: { ...keys, ...changed } })
  return [
    ...malformedForms(renewal, seed),
    ...superfluousIn(KEY_LOG_OPS, others, entryOf),
    ['torsion in sign', adds({ sign: bad }), 'bad_key'],
    ['torsion in auth', adds({ auth: bad }), 'bad_key'],
    ['torsion in a recovery key', entryOf({ op: 'recovery', key: bad }), 'bad_key'],
    ['a short seal', entryOf({ op: 'renew', device, seal: 'A'.repeat(42) }), 'bad_value'],
    ['a short key', adds({ auth: { ...keys.auth, x: 'A'.repeat(42) } }), 'bad_value'],
  ]
}

/**
 * Returns malformed first entries of a key log.
 * @param first the valid entry; signed with `seed` (32 bytes)
 */
export function malformedFirstEntries(first: string, seed: Uint8Array): Malformed[] {
  const { device, keys, salt, ...rest } = payloadOf(first)
  const others = {
    device,
    keys,
    salt,
    seal: encodeBase64url(new Uint8Array(32)),
    key: publicKeys(newDeviceKeys()).auth,
    recovery_sig: encodeBase64url(new Uint8Array(64)),
  }
  const entryOf = (members: object) =>
    signedText(first, JSON.stringify({ ...rest, ...members }), seed)
  const short = entryOf({ op: 'add', device, keys, salt: 'A'.repeat(42) })
  return [
    ...malformedForms(first, seed),
    ...superfluousIn({ add: ['device', 'keys', 'salt'] }, others, entryOf),
    ['a short salt', short, 'bad_value'],
  ]
}

/**
 * Returns malformed consents.
 * @param consent a valid one; signed with `seed` (32 bytes)
 */
export const malformedConsents = (consent: string, seed: Uint8Array): Malformed[] => [
  ...malformedForms(consent, seed).map(([what, text]): Malformed => [what, text, 'bad_consent']),
  [
    'a member more',
    signedText(consent, JSON.stringify({ ...payloadOf(consent), role: 'owner' }), seed),
    'bad_consent',
  ],
]
