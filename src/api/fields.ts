/**
 * The fields that several resources share, in their form on the wire.
 *
 * Request schemas are strict: an unknown member is rejected. Reply schemas are open, so that a
 * newer server may add members. No schema transforms a value: each returns what was sent.
 */
import * as v from 'valibot'
import { isId } from '../crypto/encoding/id.ts'
import { UNSHOWABLE } from '../crypto/encoding/quoted.ts'

/** A resource id: a prefix and 26 characters. Callers must not interpret the characters. */
export const id = (prefix: string) =>
  v.pipe(
    v.string(),
    v.check((text) => isId(prefix, text), `Expected an id that begins with ${prefix}.`),
    v.description(`An id: ${prefix} followed by 26 characters.`),
  )

/** The account of a caller. A machine account without a device uses its machine id instead. */
export const holderId = v.pipe(
  v.string(),
  v.check((text) => isId('acc_', text) || isId('mch_', text), 'Expected the id of an account.'),
  v.description(
    'The id of an account: acc_ followed by 26 characters. For a machine that has no device yet: mch_ followed by 26 characters.',
  ),
)

/** A time: RFC 3339, UTC, with milliseconds. */
export const Time = v.pipe(
  v.string(),
  v.isoTimestamp(),
  // The form above allows an offset without minutes, which is no time in RFC 3339.
  v.check((text) => !Number.isNaN(Date.parse(text)), 'Expected a time.'),
  v.description('A time in UTC with milliseconds (RFC 3339).'),
)

/** Whether a mail leaves the account server. An older account server does not send this member. */
export const Mailed = v.pipe(
  v.optional(v.boolean()),
  v.description(
    'Whether the account server has a mail relay. false: it only stored the mail in its folder for mail. Missing if the account server is older than this member.',
  ),
)

/** The latest time that the wire format can express, in Unix milliseconds. */
export const LAST_MS = Date.UTC(10_000, 0) - 1

/**
 * Returns Unix milliseconds as a time on the wire, at most `LAST_MS`.
 *
 * The signed times of other accounts can be up to 2^53-1 seconds, and `Date` throws for such
 * values.
 */
export const timeAt = (unixMs: number): string => new Date(Math.min(unixMs, LAST_MS)).toISOString()

/** Rejects lone surrogates, because UTF-8 would replace them with other characters. */
export const wellFormed = v.check(
  (text: string) => text.isWellFormed(),
  'Expected text without lone surrogates.',
)

/**
 * A visible character of any script.
 *
 * Spaces, format characters and fillers are excluded (Unicode, section 23.2 and later).
 */
const SEEN = String.raw`[^\p{Cc}\p{Cf}\p{Z}\u115f\u1160\u2800\u3164\uffa0]`

const readable = (max: number, pattern: string, message: string) =>
  v.pipe(
    v.string(),
    v.minLength(1, 'Give at least one character.'),
    v.maxLength(max, `Give at most ${max} characters.`),
    wellFormed,
    v.regex(new RegExp(pattern, 'u'), message),
  )

/**
 * A display name.
 *
 * Control characters, bidirectional overrides, and names without a visible character are rejected.
 */
export const name = (max: number) =>
  readable(
    max,
    `^(?=.*${SEEN})[^${UNSHOWABLE}]*$`,
    'Control characters and characters that change the text direction are not allowed.',
  )

/** A text of several lines: like `name`, but line breaks and tabs are accepted. */
export const text = (max: number) =>
  readable(
    max,
    `^(?=[\\s\\S]*${SEEN})(?:[\\n\\r\\t]|[^${UNSHOWABLE}])*$`,
    'Control characters other than line breaks, and characters that change the text direction, are not allowed.',
  )

/** A handle, or the last part of an open link's address. */
export const Slug = v.pipe(
  v.string(),
  v.regex(
    /^[a-z0-9](?:[a-z0-9-]{1,38}[a-z0-9])$/,
    'Expected 3 to 40 characters of a-z, 0-9 and -, beginning and ending with a letter or digit.',
  ),
)

/**
 * A mailbox (RFC 5321 section 4.1.2) in ASCII and without quoted parts, as mail forms accept it.
 */
export const email = v.pipe(
  v.string(),
  v.maxLength(254),
  v.regex(
    // Both cases are written out, because patterns in JSON Schema have no flags.
    /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/,
    'Expected an e-mail address.',
  ),
)

/** Three words, as one string or as an array. */
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

/** The purpose of words for one listener, as typed. */
export const PurposeText = v.pipe(
  v.string(),
  v.maxLength(500),
  wellFormed,
  v.description(
    'What the words are for, as typed. Only letters and digits count, at most 64, and case does not matter: "Pay 1.200" and "pay 12.00" both become `pay1200`.',
  ),
)

/** A purpose after normalisation, which both sides compute. */
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

/** Returns the query schema of a list: a page, restricted to items that match all given filters. */
export const pageOfThose = <const T extends v.ObjectEntries>(filters: T) =>
  v.strictObject({ ...Page.entries, ...filters })

/** Returns the filter that restricts a list to items in one state. */
export const inState = <const T extends readonly [string, ...string[]]>(states: T) =>
  v.optional(v.pipe(v.picklist(states), v.description('Return only items in this state.')))

const isDay = (text: string) => {
  const at = Date.parse(text)
  return at >= 0 && timeAt(at).startsWith(text)
}

/** A day in UTC, 1970 or later. */
export const Day = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}-\d{2}$/, 'Expected a day in the form 2026-01-31.'),
  v.isoDate('This day does not exist.'),
  // `isoDate` alone accepts the 30th of February.
  v.check((text) => isDay(text), 'Expected an existing day, in 1970 or later.'),
)

/** The filters that restrict a list to a range of days, both inclusive. */
export const betweenDays = {
  from: v.optional(v.pipe(Day, v.description('Return only items of this day (UTC) or later.'))),
  to: v.optional(v.pipe(Day, v.description('Return only items of this day (UTC) or earlier.'))),
}

/** Returns the reply schema of a list page, newest items first. */
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

/** A compact JWS. It is stored exactly as received. */
export const Jws = v.pipe(
  v.string(),
  v.maxLength(65_536),
  v.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, 'Expected a compact JWS.'),
  v.description('A compact JWS (RFC 7515).'),
)

/** An entry of a key log or a roster. Section 0 of the protocol limits its length. */
export const LogEntry = v.pipe(
  v.string(),
  v.maxLength(65_536),
  v.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, 'Expected a compact JWS.'),
  v.description('An entry of a key log or roster: a compact JWS (RFC 7515).'),
)

/** A public Ed25519 key (RFC 8037). */
export const Jwk = v.object({ kty: v.literal('OKP'), crv: v.literal('Ed25519'), x: v.string() })

/** A hash of 32 bytes in base64url. */
const HASH = /^[\w-]{43}$/

export const SealKeyId = v.pipe(
  v.string(),
  v.regex(HASH, 'Expected 32 bytes in base64url.'),
  v.description('The id of a sealing key: the SHA-256 hash of its bytes, in base64url.'),
)

/** An X-Wing public key (protocol, section 3). */
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

/** Sets a schema's name in the OpenAPI document. */
export const named = <const T extends v.GenericSchema>(title: string, schema: T) =>
  v.pipe(schema, v.title(title))
