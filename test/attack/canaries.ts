/**
 * Made-up secrets of every kind, and the parts that may appear nowhere: neither whole nor as a
 * stretch of twelve characters, in any encoding of a log, an error or a file.
 */
import { randomBytes } from 'node:crypto'
import { newToken } from '../../src/crypto/token.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { type Needle, found } from '../e2e/leaks.ts'

/** A secret in the form in which a client sends it, and its secret parts. */
export interface Canary {
  readonly name: string
  /** The text that is sent. */
  readonly text: string
  /** The parts that must be found nowhere; the text itself if all of it is secret. */
  readonly secrets: readonly string[]
}

/** The length of the shortest stretch of a secret that counts. */
const STRETCH = 12

const bytes = (n: number) => randomBytes(n)
const letters = (n: number) =>
  Array.from(bytes(n), (byte) => 'abcdefghjkmnpqrstuvwxyz23456789'.charAt(byte % 31)).join('')
const code = () =>
  Array.from(bytes(16), (byte) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(byte & 31)).join('')
const grouped = (text: string) => text.replace(/(.{4})(?!$)/g, '$1-')
const words = (n: number) =>
  wordsAt(Array.from({ length: n }, () => bytes(2).readUInt16BE() & 0xfff)).join(' ')

function jws(): Canary {
  const parts = [JSON.stringify({ typ: letters(20) }), bytes(40), bytes(64)]
  const encoded = parts.map((part) => Buffer.from(part).toString('base64url'))
  return { name: 'a signed structure', text: encoded.join('.'), secrets: encoded.slice(1) }
}

function jwk(): Canary {
  const d = bytes(32).toString('base64url')
  const key = { kty: 'OKP', crv: 'Ed25519', x: bytes(32).toString('base64url'), d }
  return { name: 'a private key', text: JSON.stringify(key), secrets: [d] }
}

const whole = (name: string, text: string): Canary => ({ name, text, secrets: [text] })

/** Creates a canary with a secret inside a text that need not be secret. */
function within(name: string, around: (secret: string) => string, secret: string): Canary {
  return { name, text: around(secret), secrets: [secret] }
}

/** Creates one canary of each kind, with new values at each call. */
export function newCanaries(): Canary[] {
  return [
    whole('a token of the daemon', newToken('csd_')),
    whole('a token of a machine', newToken('csm_')),
    whole('a token that was cut', newToken('csd_').slice(0, 20)),
    within('a bearer token of somebody else', (it) => `Bearer ${it}`, letters(24)),
    within('a bound token', (it) => `DPoP ${it}`, letters(24)),
    within(
      'a user and password',
      (it) => `Basic ${it}`,
      Buffer.from(`ada:${letters(12)}`).toString('base64'),
    ),
    within('another scheme', (it) => `Token ${it}`, letters(24)),
    whole('a session or refresh token', bytes(32).toString('base64url')),
    jws(),
    jwk(),
    whole('an enrolment code', grouped(code())),
    whole('an enrolment code as typed', grouped(code()).toLowerCase()),
    whole('an enrolment code without hyphens', code()),
    within('a link with its key', (it) => `https://example.org/g/gst_x#${it}`, letters(24)),
    whole('three words', words(3)),
    whole('four words', words(4)),
    whole('words with hyphens', words(3).replaceAll(' ', '-')),
    within('a URL with a password', (it) => `https://ada:${it}@example.org/x`, letters(16)),
    within('the URL of a database', (it) => `postgres://ada:${it}@127.0.0.1:5/x`, letters(16)),
    within('the URL of a relay', (it) => `smtps://ada:${it}@mail.example.org`, letters(16)),
    whole('the key of an assistant', `sk-proj-${letters(24)}`),
    whole('the key of a keychain', bytes(32).toString('hex')),
    whole('the key of a keychain in base64', bytes(32).toString('base64')),
    whole('a password', letters(20)),
  ]
}

/**
 * Returns the encodings of a secret, each with the length of a stretch that equals twelve
 * characters.
 */
function spellings(secret: string): [how: string, text: string, stretch: number][] {
  const raw = Buffer.from(secret)
  const base64 = [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), raw]).toString('base64')
    const own = encoded.slice(
      Math.ceil((before * 8) / 6),
      Math.floor(((before + raw.length) * 8) / 6),
    )
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const of = (how: string, text: string, stretch = STRETCH): [string, string, number] => [
    how,
    text,
    stretch,
  ]
  return [
    of('as it is', secret),
    of('backwards', secret.split('').toReversed().join('')),
    of('in upper case', secret.toUpperCase()),
    of('in lower case', secret.toLowerCase()),
    of('in JSON', JSON.stringify(secret).slice(1, -1)),
    of('in JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)),
    of('in a URL', encodeURIComponent(secret)),
    of('in a form', new URLSearchParams({ a: secret }).toString().slice(2)),
    of('in HTML', secret.replaceAll('"', '&quot;')),
    ...base64.map((text) => of('in base64', text, 16)),
    of('in hex', raw.toString('hex'), 24),
    of('in upper-case hex', raw.toString('hex').toUpperCase(), 24),
  ]
}

function stretches(text: string, length: number): string[] {
  if (text.length <= length) return [text]
  return Array.from({ length: text.length - length + 1 }, (_, i) => text.slice(i, i + length))
}

/** Returns the texts to search for. `what` names the secret without its value. */
export function needlesOf({ name, secrets }: Pick<Canary, 'name' | 'secrets'>): Needle[] {
  const seen = new Set<string>()
  return secrets.flatMap((secret) =>
    spellings(secret).flatMap(([how, text, length]) =>
      stretches(text, length).flatMap((part) => {
        if (seen.has(part)) return []
        seen.add(part)
        return [{ what: `${name}, ${how}`, bytes: Buffer.from(part) }]
      }),
    ),
  )
}

/** Returns the names of the needles in some texts, each once. */
export const hitsIn = (needles: readonly Needle[], texts: Iterable<string | Buffer>): string[] => [
  ...new Set(
    found(
      needles,
      [...texts].map((text) => Buffer.from(text)),
      1,
    ),
  ),
]
