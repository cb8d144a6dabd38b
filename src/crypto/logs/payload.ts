/**
 * Declares payloads as data: a shape names every member and its kind.
 *
 * A reader rejects every member that is not in the shape. A kind returns the value unchanged, so
 * the result is the payload exactly as it was signed.
 */
import { decodeBase64url } from '../encoding/base64url.ts'
import { isId, ID_PREFIX } from '../encoding/id.ts'
import { jwkForm, type PublicJwk } from '../jose/jwk.ts'
import type { Json, JsonObject } from '../encoding/json.ts'
import { isSigningKey } from '../ed25519.ts'
import { inMessage } from '../encoding/quoted.ts'
import { requireThat, Refusal, type RefusalReason } from '../refusal.ts'

export type MemberKind<T> = (value: Json) => T
type Shape = Record<string, MemberKind<unknown>>
type Read<R extends Shape, O extends Shape> = Plain<
  { [K in keyof R]: ReturnType<R[K]> } & { [K in keyof O]?: ReturnType<O[K]> }
>
/**
 * Merges an intersection into one flat object, for readable types in editors and error messages.
 */
type Plain<T> = { [K in keyof T]: T[K] }

const version: MemberKind<2> = (value) => {
  requireThat(value === 2, 'wrong_version', 'v must be 2')
  return value
}

/**
 * Returns a function that reads a payload of protocol 2.
 *
 * The payload must have all members of `required`. It may have members of `optional`, and no
 * others. The function throws `wrong_version`, `missing_member`, `unknown_member`, and the refusals
 * of the kinds.
 */
export function payload<R extends Shape, O extends Shape = Record<never, never>>(
  required: R,
  optional?: O,
) {
  const read = record({ v: version, ...required }, optional)
  return (value: JsonObject): Plain<{ v: 2 } & Read<R, O>> => {
    // The version is checked first, because another version may have other members.
    if (value.has('v')) version(value.get('v')!)
    return read(value) as Plain<{ v: 2 } & Read<R, O>>
  }
}

/**
 * Returns a function that reads an object.
 *
 * The object must have all members of `required`. It may have members of `optional`, and no others.
 */
export function record<R extends Shape, O extends Shape = Record<never, never>>(
  required: R,
  optional?: O,
): (value: Json | JsonObject) => Read<R, O> {
  const kinds = new Map<string, MemberKind<unknown>>(Object.entries({ ...required, ...optional }))
  const wanted = Object.keys(required)
  return (value) => {
    requireThat(value instanceof Map, 'bad_value', 'not an object')
    for (const name of value.keys()) {
      // The message is built only for a refusal, because logs have many members.
      if (!kinds.has(name))
        throw new Refusal('unknown_member', `unknown member: ${inMessage(name)}`)
    }
    for (const name of wanted) requireThat(value.has(name), 'missing_member', `no member ${name}`)
    const read: Record<string, unknown> = {}
    for (const [name, kind] of kinds) {
      const member = value.get(name)
      if (member !== undefined) read[name] = kind(member)
    }
    return read as Read<R, O>
  }
}

/**
 * Checks the optional members of an entry: all of `wanted` must be present, and no others.
 * @throws Refusal `missing_member` and `superfluous_member`
 */
export function exactly(entry: object, optional: readonly string[], wanted: readonly string[]) {
  for (const name of optional) {
    const has = Object.hasOwn(entry, name)
    requireThat(has || !wanted.includes(name), 'missing_member', `no member ${name}`)
    requireThat(
      !has || wanted.includes(name),
      'superfluous_member',
      `${name} does not belong to this op`,
    )
  }
}

export const string: MemberKind<string> = (value) => {
  requireThat(typeof value === 'string', 'bad_value', 'not a string')
  return value
}

/** An integer within ±(2^53 − 1). `parseJson` has already rejected all other numbers. */
export const integer: MemberKind<number> = (value) => {
  requireThat(typeof value === 'number', 'bad_value', 'not a number')
  return value
}

/** A count, or a time in Unix seconds: an integer of at least 0. */
export const natural: MemberKind<number> = (value) => {
  requireThat(integer(value) >= 0, 'bad_value', 'negative')
  return value as number
}

/** An epoch: an integer below 2^32, because derivations encode it as u32be. */
export const epochNumber: MemberKind<number> = (value) => {
  requireThat(natural(value) < 2 ** 32, 'bad_value', 'an epoch must be below 2^32')
  return value as number
}

export const nullable =
  <T>(kind: MemberKind<T>): MemberKind<T | null> =>
  (value) =>
    value === null ? null : kind(value)

/** Canonical base64url, of exactly `length` bytes if `length` is given. */
export const base64url =
  (length?: number): MemberKind<string> =>
  (value) => {
    const bytes = decodeBase64url(string(value))
    requireThat(length === undefined || bytes.length === length, 'bad_value', `not ${length} bytes`)
    return value as string
  }

export const idWithPrefix =
  (prefix: string, reason: RefusalReason = 'bad_value'): MemberKind<string> =>
  (value) => {
    requireThat(isId(prefix, string(value)), reason, `not an id ${prefix}…`)
    return value as string
  }

/** An account id. Any other id is refused with `not_an_account`. */
export const accountId = idWithPrefix(ID_PREFIX.account, 'not_an_account')

export const oneOf =
  <const T extends string>(
    values: readonly T[],
    reason: RefusalReason = 'bad_value',
  ): MemberKind<T> =>
  (value) => {
    const found = values.find((known) => known === value)
    requireThat(found !== undefined, reason, `not one of ${values.join(', ')}`)
    return found
  }

const jwkMembers = record({ kty: string, crv: string, x: string })

/** An Ed25519 public key with exactly `kty`, `crv` and `x` (see `jwkBytes`). */
export const signingJwk: MemberKind<PublicJwk> = (value) => {
  const key = jwkMembers(value) as PublicJwk
  requireThat(isSigningKey(jwkForm(key)), 'bad_key', 'not a point of the prime-order group')
  return key
}

/** Like `signingJwk`, for an entry verified earlier: the key's order is not checked again. */
export const verifiedJwk: MemberKind<PublicJwk> = (value) => {
  const key = jwkMembers(value) as PublicJwk
  jwkForm(key)
  return key
}

/** A place in a log: the seq of an entry and its hash. */
export const place = record({ seq: natural, head: base64url(32) })
