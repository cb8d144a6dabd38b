/**
 * Reads and writes the messages of a first contact (section 3a), which the account server relays.
 *
 * The messages are JSON texts, parsed like the payloads of signed structures. A run has at most
 * three: the invitee sends `begin`, the inviter sends `reply`, and the invitee sends `end`. A side
 * that cannot continue sends a failure in place of `reply` or `end`, so that the other side does
 * not have to wait.
 */
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { CpaceMessage, CpaceReply } from './cpace.ts'
import { decodeBase64url, encodeBase64url } from './encoding/base64url.ts'
import { parseJson, type JsonObject } from './encoding/json.ts'
import { base64url, payload, string } from './logs/payload.ts'
import { requireThat, type RefusalReason } from './refusal.ts'

/** The lengths of the associated data ADa (invitee) and ADb (inviter) in bytes. */
const INVITEE_AD = 56
const INVITER_AD = 88

/**
 * The reasons that a side can give when it ends a run. More detail would not help the other side.
 */
const FAILURES = ['ad_mismatch', 'cpace_abort', 'tag_mismatch'] as const
export type Failure = (typeof FAILURES)[number]

/** Returns the failure to send to the other side if a message was refused here. */
export const contactFailure = (reason: RefusalReason): Failure =>
  FAILURES.find((one) => one === reason) ?? 'cpace_abort'

const failure = (value: Parameters<typeof string>[0]): Failure => {
  const found = FAILURES.find((one) => one === string(value))
  requireThat(found !== undefined, 'bad_value', 'not a failure code of a first contact')
  return found
}

const readBegin = payload({ share: base64url(32), ad: base64url(INVITEE_AD) })
const readReply = payload({
  share: base64url(32),
  ad: base64url(INVITER_AD),
  tag: base64url(64),
})
const readEnd = payload({ tag: base64url(64) })
const readFailed = payload({ failed: failure })

const written = (members: Readonly<Record<string, Uint8Array>>): string =>
  JSON.stringify({
    v: 2,
    ...Object.fromEntries(
      Object.entries(members).map(([name, bytes]) => [name, encodeBase64url(bytes)]),
    ),
  })

const objectOf = (message: string): JsonObject => parseJson(utf8ToBytes(message))

export const writeBegin = ({ share, ad }: CpaceMessage): string => written({ share, ad })
export const writeReply = ({ share, ad, tag }: CpaceReply): string => written({ share, ad, tag })
export const writeEnd = (tag: Uint8Array): string => written({ tag })
export const writeFailed = (failed: Failure): string => JSON.stringify({ v: 2, failed })

/**
 * Parses the message `begin`.
 * @throws Refusal as `parseJson` and `payload`
 */
export function parseBegin(message: string): CpaceMessage {
  const { share, ad } = readBegin(objectOf(message))
  return { share: decodeBase64url(share), ad: decodeBase64url(ad) }
}

/**
 * Parses the message `reply`, or the failure that was sent in its place.
 * @throws Refusal as `parseBegin`
 */
export function parseReply(message: string): CpaceReply | Failure {
  const value = objectOf(message)
  if (value.has('failed')) return readFailed(value).failed
  const { share, ad, tag } = readReply(value)
  return {
    share: decodeBase64url(share),
    ad: decodeBase64url(ad),
    tag: decodeBase64url(tag),
  }
}

/**
 * Parses the message `end` and returns its tag (64 bytes), or the failure sent in its place.
 * @throws Refusal as `parseBegin`
 */
export function parseEnd(message: string): Uint8Array | Failure {
  const value = objectOf(message)
  return value.has('failed') ? readFailed(value).failed : decodeBase64url(readEnd(value).tag)
}

/** Returns the roster entry hash (32 bytes) at the end of the inviter's associated data. */
export const rosterHeadIn = ({ ad }: CpaceMessage): Uint8Array => ad.slice(INVITER_AD - 32)
