/** The words of protocol section 2 once more, from the text alone: node:crypto and the list, nothing else of src. */
import { createHmac, hkdfSync } from 'node:crypto'
import { WORDLIST } from '../../src/crypto/wordlist.ts'

const WORDS = WORDLIST.trimEnd().split('\n')
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** The 16 bytes of an id: its last 26 characters are a number in base 32. */
export function idBytes(id: string): Buffer {
  let number = 0n
  for (const letter of id.slice(4)) number = number * 32n + BigInt(ALPHABET.indexOf(letter))
  return Buffer.from(number.toString(16).padStart(32, '0'), 'hex')
}

/** What `speaker` says about `subject` in a window. */
export function wordsFrom(of: {
  label: 'code' | 'guest'
  k: Uint8Array
  subject: string
  speaker: string
  window: number
  epoch?: number
  head?: Uint8Array
}): string {
  const { label, k, subject, speaker, window, epoch = 1, head = Buffer.alloc(32) } = of
  const number = Buffer.alloc(4)
  number.writeUInt32BE(epoch)
  const info = Buffer.concat([Buffer.from(`countersign/v2/${label}\0`), number, head])
  const kc = Buffer.from(hkdfSync('sha256', k, idBytes(subject), info, 32))
  const minute = Buffer.alloc(8)
  minute.writeBigUInt64BE(BigInt(window))
  const mac = createHmac('sha256', kc)
    .update(Buffer.concat([Buffer.of(1), minute, idBytes(speaker)]))
    .digest()
  // 36 bits are nine hexadecimal digits, three to a word.
  const digits = mac.toString('hex').slice(0, 9).match(/.../g) ?? []
  return digits.map((three) => WORDS[parseInt(three, 16)]).join(' ')
}

/** K and the id in the link of a guest code. */
export function linkOf(url: string): { id: string; k: Buffer; page: string } {
  const { pathname, hash, origin } = new URL(url)
  return {
    id: pathname.slice('/g/'.length),
    k: Buffer.from(hash.slice(1), 'base64url'),
    page: origin + pathname,
  }
}

/** The minute of a time of the wire. */
export const minuteOf = (time: string): number => Date.parse(time) / 60_000
