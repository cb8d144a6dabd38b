/**
 * The fields that several resources share, each with its form on the wire. Requests are strict
 * (an unknown member is rejected); replies are open, so that a newer server may add members.
 * There are no transforms: schemas return the values that were sent.
 */
import * as v from 'valibot'
import { isId } from '../crypto/encoding/id.ts'
import { UNSHOWABLE } from '../crypto/encoding/quoted.ts'

/** A resource id: its prefix and 26 characters, opaque to callers. */
export const id = (prefix: string) =>
  v.pipe(
    v.string(),
    v.check((text) => isId(prefix, text), `Expected an id that begins with ${prefix}.`),
    v.description(`An id: ${prefix} followed by 26 characters.`),
  )

/**
 * The account of a caller. A machine without a device has no account id yet, and uses its own id.
 */
export const holderId = v.pipe(
  v.string(),
  v.check((text) => isId('acc_', text) || isId('mch_', text), 'Expected the id of an account.'),
  v.description(
    'The id of an account: acc_ followed by 26 characters. For a machine that has no device yet: mch_ followed by 26 characters.',
  ),
)

/** RFC 3339, UTC, milliseconds. */
export const Time = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.description('A time in UTC with milliseconds (RFC 3339).'),
)

/** The last time that the wire can express, in Unix milliseconds. */
export const LAST_MS = Date.UTC(10_000, 0) - 1

/**
 * Returns Unix milliseconds as a time on the wire; a time later than the wire can express becomes
 * `LAST_MS`. Signed times of other accounts can be up to 2^53-1 seconds, and `Date` throws for
 * those.
 */
export const timeAt = (unixMs: number): string => new Date(Math.min(unixMs, LAST_MS)).toISOString()

/** Rejects lone surrogates, which would become other characters in UTF-8. */
export const wellFormed = v.check(
  (text: string) => text.isWellFormed(),
  'Expected text without lone surrogates.',
)

/**
 * A visible character: not a space, a format character or a filler, in any script (Unicode,
 * section 23.2 and on).
 */
const SEEN = String.raw`[^\p{Cc}\p{Cf}\p{Z}\u115f\u1160\u2800\u3164\uffa0]`

const readable = (max: number, pattern: string, told: string) =>
  v.pipe(
    v.string(),
    v.minLength(1, 'Give at least one character.'),
    v.maxLength(max, `Give at most ${max} characters.`),
    wellFormed,
    v.regex(new RegExp(pattern, 'u'), told),
  )

/**
 * A name for display. Control characters, bidirectional overrides, and names of spaces alone are
 * rejected.
 */
export const name = (max: number) =>
  readable(
    max,
    `^(?=.*${SEEN})[^${UNSHOWABLE}]*$`,
    'Control characters and characters that change the text direction are not allowed.',
  )

/** A text of several lines: as `name`, but line breaks and tabs are accepted. */
export const text = (max: number) =>
  readable(
    max,
    `^(?=[\\s\\S]*${SEEN})(?:[\\n\\r\\t]|[^${UNSHOWABLE}])*$`,
    'Control characters other than line breaks, and characters that change the text direction, are not allowed.',
  )

/** A handle, or the last part of a link's address. */
export const Slug = v.pipe(
  v.string(),
  v.regex(
    /^[a-z0-9](?:[a-z0-9-]{1,38}[a-z0-9])$/,
    'Expected 3 to 40 characters of a-z, 0-9 and -, beginning and ending with a letter or digit.',
  ),
)

/** A mailbox (RFC 5321 section 4.1.2), in ASCII and without quoting, as mail forms accept it. */
export const email = v.pipe(
  v.string(),
  v.maxLength(254),
  v.regex(
    // Both cases are written out: JSON Schema has no flags.
    /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/,
    'Expected an e-mail address.',
  ),
)

/** Three words: one string, or an array of them. */
export const Words = v.pipe(
  v.union(
    [
      v.pipe(v.string(), v.maxLength(200)),
      v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(16)),
    ],
    'Expected three words, as one string or as an array of strings.',
  ),
  v.description(
    'Three words as heard: one string, in which spaces and case do not matter, or an array of strings.',
  ),
)

/** The purpose of words for one listener. */
export const PurposeText = v.pipe(
  v.string(),
  v.maxLength(500),
  wellFormed,
  v.description(
    'What the words are for, as typed. Only letters and digits count, at most 64, and case does not matter: "Pay 1.200" and "pay 12.00" both become `pay1200`.',
  ),
)

/** A purpose as both sides compute it. */
export const ShownPurpose = v.pipe(
  v.string(),
  v.description(
    'The purpose as both sides compute it; empty if there is none. Show it to the user, because it can differ from the text that was typed.',
  ),
)

export const ScopeName = v.pipe(
  v.picklist(['read', 'write', 'full']),
  v.description(
    'read: any GET request. write: also changes to your own data. full: also organisations and tokens.',
  ),
)

export const Page = v.strictObject({
  limit: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.maxValue(200),
      v.description('The number of items on a page.'),
    ),
    50,
  ),
  cursor: v.optional(
    v.pipe(v.string(), v.maxLength(200), v.description('`next_cursor` of the previous page.')),
  ),
})
export type Page = v.InferOutput<typeof Page>

/** Returns the query of a filtered list: a page of the items that match every given filter. */
export const pageOfThose = <const T extends v.ObjectEntries>(filters: T) =>
  v.strictObject({ ...Page.entries, ...filters })

/** Restricts a list to items in one state. */
export const inState = <const T extends readonly [string, ...string[]]>(states: T) =>
  v.optional(v.pipe(v.picklist(states), v.description('Return only items in this state.')))

const isDay = (text: string) => {
  const at = Date.parse(text)
  return at >= 0 && timeAt(at).startsWith(text)
}

/** A day in UTC. */
export const Day = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}-\d{2}$/, 'Expected a day in the form 2026-01-31.'),
  v.isoDate('This day does not exist.'),
  // The pattern alone accepts the 30th of February.
  v.check((text) => isDay(text), 'Expected an existing day, in 1970 or later.'),
)

/** Restricts a list to items of some days. */
export const betweenDays = {
  from: v.optional(v.pipe(Day, v.description('Return only items of this day (UTC) or later.'))),
  to: v.optional(v.pipe(Day, v.description('Return only items of this day (UTC) or earlier.'))),
}

/** A page of a list, newest first. */
export const listOf = <const T extends v.GenericSchema>(item: T) =>
  v.object({
    items: v.array(item),
    next_cursor: v.pipe(v.nullable(v.string()), v.description('null on the last page.')),
  })

export const Sha256Hex = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{64}$/, 'Expected 64 lower-case hexadecimal digits.'),
  v.description('A SHA-256 hash in lower-case hexadecimal digits.'),
)

/** A compact JWS, kept as received. */
export const Jws = v.pipe(
  v.string(),
  v.maxLength(65_536),
  v.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, 'Expected a compact JWS.'),
  v.description('A compact JWS (RFC 7515).'),
)

/** An entry of a key log or a roster: section 0 of the protocol limits its length. */
export const LogEntry = v.pipe(
  v.string(),
  v.maxLength(65_536),
  v.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, 'Expected a compact JWS.'),
  v.description('An entry of a key log or roster: a compact JWS (RFC 7515).'),
)

/** A public Ed25519 key (RFC 8037). */
export const Jwk = v.object({ kty: v.literal('OKP'), crv: v.literal('Ed25519'), x: v.string() })

/** 32 bytes in base64url: hashes. */
const HASH = /^[\w-]{43}$/

export const SealKeyId = v.pipe(
  v.string(),
  v.regex(HASH, 'Expected 32 bytes in base64url.'),
  v.description('The id of a sealing key: the SHA-256 hash of its bytes, in base64url.'),
)

/** A public key of X-Wing (protocol, section 3). */
export const SealKey = v.pipe(
  v.string(),
  v.regex(/^[\w-]{1622}$/, 'Expected 1,216 bytes in base64url.'),
  v.description('A sealing key: 1,216 bytes in base64url.'),
)

export const Envelope = v.pipe(
  v.string(),
  v.maxLength(4096),
  v.description('An envelope as JSON text: the secret of an epoch, sealed to one device.'),
)

/** Sets the name under which the OpenAPI document lists a schema. */
export const named = <const T extends v.GenericSchema>(title: string, schema: T) =>
  v.pipe(schema, v.title(title))
