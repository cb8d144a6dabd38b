/** Section 3a: CPace, draft-irtf-cfrg-cpace-21, ristretto255 and SHA-512, initiator-responder. */
import {
  type Bytes,
  concat,
  hmac,
  label,
  need,
  Refused,
  same,
  sha512,
  u64be,
  utf8,
} from './bytes.ts'
import { encode, fromUniform, times, timesVerified } from './ristretto.ts'
import type { Point } from './edwards.ts'

const DSI = utf8('CPaceRistretto255')
/** Input block of SHA-512 in bytes. */
const BLOCK = 128

/** Returns a length in unsigned LEB128, then the bytes. */
function prependLength(data: Bytes): Bytes {
  const length: number[] = []
  let rest = data.length
  do {
    length.push((rest % 128) + (rest >= 128 ? 128 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return concat(Uint8Array.from(length), data)
}
export const lvCat = (...parts: readonly Bytes[]): Bytes => concat(...parts.map(prependLength))

export function generatorString(prs: Bytes, ci: Bytes, sid: Bytes): Bytes {
  const padding = BLOCK - 1 - prependLength(prs).length - prependLength(DSI).length
  return lvCat(DSI, prs, new Uint8Array(Math.max(0, padding)), ci, sid)
}
export const generator = (prs: Bytes, ci: Bytes, sid: Bytes): Point =>
  fromUniform(sha512(generatorString(prs, ci, sid)))

export const channel = (connection: Bytes, inviter: Bytes): Bytes =>
  concat(label('countersign/v2/cpace'), connection, inviter)
/** Returns ADa; the inviter’s ADb ends with the roster head. */
export const associated = (account: Bytes, seq: number, head: Bytes, roster?: Bytes): Bytes =>
  concat(account, u64be(seq), head, roster ?? new Uint8Array(0))

export interface Session {
  readonly role: 'initiator' | 'responder'
  readonly prs: Bytes
  readonly sid: Bytes
  readonly ci: Bytes
  /** 32 bytes, little-endian. */
  readonly scalar: Bytes
  readonly ad: Bytes
  readonly receivedShare: Bytes
  readonly receivedAd: Bytes
}

export interface Keys {
  readonly generator: Bytes
  readonly share: Bytes
  readonly K: Bytes
  readonly isk: Bytes
  readonly macKey: Bytes
  /** The tag that this side sends, and the one that it expects. */
  readonly tag: Bytes
  readonly expectedTag: Bytes
}

/** @throws Refused `cpace_abort` */
export function derive(of: Session): Keys {
  const g = generator(of.prs, of.ci, of.sid)
  const share = times(of.scalar, g)
  const K = timesVerified(of.scalar, of.receivedShare)
  if (K === null) throw new Refused('cpace_abort')
  const mine = lvCat(share, of.ad)
  const theirs = lvCat(of.receivedShare, of.receivedAd)
  const both = of.role === 'initiator' ? concat(mine, theirs) : concat(theirs, mine)
  const isk = sha512(lvCat(concat(DSI, utf8('_ISK')), of.sid, K), both)
  const macKey = sha512(utf8('CPaceMac'), of.sid, isk)
  return {
    generator: encode(g),
    share,
    K,
    isk,
    macKey,
    tag: hmac('sha512', macKey, mine),
    expectedTag: hmac('sha512', macKey, theirs),
  }
}

/**
 * Runs one side, with the AD of the log that this device verified and the other side’s tag.
 * @throws Refused `ad_mismatch`, `cpace_abort`, `tag_mismatch`
 */
export function finish(of: Session, expectedAd: Bytes, receivedTag: Bytes): Keys {
  need(same(of.receivedAd, expectedAd), 'ad_mismatch')
  const keys = derive(of)
  need(same(keys.expectedTag, receivedTag), 'tag_mismatch')
  return keys
}
