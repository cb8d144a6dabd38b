/**
 * The words of protocol section 2, implemented from the text alone: with node:crypto and the
 * list, and nothing else of src.
 */
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { WORDLIST } from '../../src/crypto/wordlist.ts'

const WORDS = WORDLIST.trimEnd().split('\n')
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

interface Secret {
  readonly label: 'code' | 'guest'
  readonly k: Uint8Array
  readonly subject: string
  readonly epoch?: number
  readonly head?: Uint8Array
}

function codeKeyOf({ label, k, subject, epoch = 1, head = Buffer.alloc(32) }: Secret): Buffer {
  const number = Buffer.alloc(4)
  number.writeUInt32BE(epoch)
  const info = Buffer.concat([Buffer.from(`countersign/v2/${label}\0`), number, head])
  return Buffer.from(hkdfSync('sha256', k, idBytes(subject), info, 32))
}

function minuteBytes(window: number): Buffer {
  const minute = Buffer.alloc(8)
  minute.writeBigUInt64BE(BigInt(window))
  return minute
}

/** Returns the words of the first 36 bits: nine hexadecimal digits, three to a word. */
const firstWords = (mac: Buffer): string =>
  (mac.toString('hex').slice(0, 9).match(/.../g) ?? [])
    .map((three) => WORDS[parseInt(three, 16)])
    .join(' ')

/** Returns the 16 bytes of an id: its last 26 characters are a number in base 32. */
export function idBytes(id: string): Buffer {
  let number = 0n
  for (const letter of id.slice(4)) number = number * 32n + BigInt(ALPHABET.indexOf(letter))
  return Buffer.from(number.toString(16).padStart(32, '0'), 'hex')
}

/** Returns the words of `speaker` about `subject` in a window. */
export function wordsFrom(of: Secret & { speaker: string; window: number }): string {
  const message = [Buffer.of(1), minuteBytes(of.window), idBytes(of.speaker)]
  return firstWords(createHmac('sha256', codeKeyOf(of)).update(Buffer.concat(message)).digest())
}

/** Returns the words of `speaker` in a window, as the answer to a listener’s challenge. */
export function answerFrom(
  of: Omit<Secret, 'label'> & {
    speaker: string
    window: number
    listener: string
    /** The word of the challenge. */
    challenge: string
    /** In its displayed form: normalised. */
    purpose: string
  },
): string {
  const word = Buffer.alloc(2)
  word.writeUInt16BE(WORDS.indexOf(of.challenge))
  const purpose = createHash('sha256').update(of.purpose).digest()
  const people = [idBytes(of.speaker), idBytes(of.listener)]
  const message = [Buffer.of(2), minuteBytes(of.window), ...people, word, purpose]
  const kc = codeKeyOf({ ...of, label: 'code' })
  return firstWords(createHmac('sha256', kc).update(Buffer.concat(message)).digest())
}

/** Returns K and the id in the link of a guest code. */
export function linkOf(url: string): { id: string; k: Buffer; page: string } {
  const { pathname, hash, origin } = new URL(url)
  return {
    id: pathname.slice('/g/'.length),
    k: Buffer.from(hash.slice(1), 'base64url'),
    page: origin + pathname,
  }
}

/** Returns the minute of a time of the API. */
export const minuteOf = (time: string): number => Date.parse(time) / 60_000
