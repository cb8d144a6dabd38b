/**
 * The form of key log entries (section 3): the members of the payload, and which ops use them.
 *
 * `key-log-ops.ts` checks whether an entry may follow the entries before it.
 */
import { requirePlace } from './chain.ts'
import { ID_PREFIX } from '../encoding/id.ts'
import type { PublicJwk } from '../jose/jwk.ts'
import { parseJws, type ParsedJws } from '../jose/jws.ts'
import {
  accountId,
  base64url,
  exactly,
  idWithPrefix,
  natural,
  oneOf,
  payload,
  record,
  signingJwk,
  verifiedJwk,
  type MemberKind,
} from './payload.ts'
import { requireThat } from '../refusal.ts'

const NAMES = ['add', 'revoke', 'reset', 'renew', 'recovery'] as const
export type Op = (typeof NAMES)[number]

/** The optional members, and the whole payload. `jwk` reads the public keys in them. */
const optional = (jwk: MemberKind<PublicJwk>) => ({
  device: idWithPrefix(ID_PREFIX.device),
  keys: record({ sign: jwk, seal: base64url(32), auth: jwk }),
  salt: base64url(32),
  seal: base64url(32),
  key: jwk,
  recovery_sig: base64url(64),
})
const payloadOf = (jwk: MemberKind<PublicJwk>) =>
  payload(
    {
      account: accountId,
      seq: natural,
      prev: base64url(32),
      op: oneOf(NAMES, 'bad_op'),
      by: idWithPrefix(ID_PREFIX.device),
      at: natural,
    },
    optional(jwk),
  )
const OPTIONAL = optional(signingJwk)
const readPayload = payloadOf(signingJwk)
const readVerifiedPayload = payloadOf(verifiedJwk)
type Payload = ReturnType<typeof readPayload>
type Optional = keyof typeof OPTIONAL

/** The optional members that each op uses. */
const USES = {
  add: ['device', 'keys'],
  revoke: ['device'],
  reset: ['device', 'keys'],
  renew: ['device', 'seal'],
  recovery: ['key'],
} as const satisfies Record<Op, readonly Optional[]>

type Common = Omit<Payload, Optional | 'op'>
type Uses<O extends Op> = (typeof USES)[O][number]
/** An entry of one op, with exactly the members that the op uses. */
export type EntryOf<O extends Op> = Common & { op: O; jws: ParsedJws } & Required<
    Pick<Payload, Uses<O>>
  >
/** The first entry of a log has a salt. A reset may have a recovery signature. */
export type FirstEntry = EntryOf<'add'> & { salt: string }
export type ResetEntry = EntryOf<'reset'> & { recovery_sig?: string }
export type RecoveryEntry = EntryOf<'recovery'> & { recovery_sig?: string }
export type KeyLogEntry =
  EntryOf<'add'> | EntryOf<'revoke'> | EntryOf<'renew'> | ResetEntry | RecoveryEntry

/**
 * Parses an entry. Its signature is not verified.
 * @throws Refusal as `parseJws` and `payload`; `bad_op`, `log_full`
 */
export const readKeyLogEntry = (text: string): KeyLogEntry => entryOf(text, readPayload)

/**
 * Like `readKeyLogEntry`, but for a verified entry. Its keys are not checked for their order again.
 */
export const readVerified = (text: string): KeyLogEntry => entryOf(text, readVerifiedPayload)

function entryOf(text: string, read: typeof readPayload): KeyLogEntry {
  const jws = parseJws(text, 'keylog+jws')
  const entry = read(jws.payload)
  const { op, seq } = entry
  requireThat(seq !== 0 || op === 'add', 'bad_op', 'the first entry of a log must be add')
  requireKeyLogPlace(op, seq)
  const uses: Optional[] = [...USES[op]]
  if (seq === 0) uses.push('salt')
  const signable = (op === 'reset' || op === 'recovery') && entry.recovery_sig !== undefined
  if (signable) uses.push('recovery_sig')
  exactly(entry, Object.keys(OPTIONAL), uses)
  // `exactly` has checked that the entry has exactly the members of its op.
  return { ...entry, jws } as KeyLogEntry
}

/**
 * Throws if a key log has no place `seq`, or if the place is reserved for `revoke` and `reset`.
 * @throws Refusal `log_full`
 */
export function requireKeyLogPlace(op: Op, seq: number): void {
  requirePlace(seq, op === 'revoke' || op === 'reset')
}
