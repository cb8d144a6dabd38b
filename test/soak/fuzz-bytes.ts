/** Mutations of the bytes of valid requests: flipped, cut, inserted, doubled, and two spliced. */
import fc, { type Arbitrary } from 'fast-check'

/** Texts that often break parsers. */
const TOKENS = [
  '\0',
  '\n',
  '\r',
  '\r\n',
  '\r\n\r\n',
  ' ',
  '\t',
  '"',
  '\\',
  '\\ud800',
  '\\u0000',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '1e400',
  '-',
  '%',
  '%00',
  '%2f',
  '../',
  '?',
  '#',
  '\xff\xfe',
  '\xed\xa0\x80',
  '\xf0\x9f\x98\x80',
  'HTTP/1.0',
  'HTTP/2.0',
  'GET ',
  'HEAD ',
  'CONNECT ',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Expect: x\r\n',
  'Connection: Upgrade\r\nUpgrade: websocket\r\n',
  'Content-Encoding: gzip\r\n',
  'Origin: null\r\n',
  'Host: evil.example\r\n',
  'Authorization: Bearer x\r\n',
  'Idempotency-Key: \r\n',
  'DPoP: e30.e30.e30\r\n',
  'Cookie: a=b\r\n',
].map((text) => Buffer.from(text, 'latin1'))

export interface Mutation {
  readonly how: 'flip' | 'set' | 'cut' | 'end' | 'insert' | 'double'
  /** The position and the length: in 1/10000 of the whole. */
  readonly at: number
  readonly span: number
  readonly value: number
}

export const MUTATIONS: Arbitrary<Mutation[]> = fc.array(
  fc.record({
    how: fc.constantFrom<Mutation['how']>(
      'flip',
      'flip',
      'set',
      'cut',
      'end',
      'insert',
      'insert',
      'double',
    ),
    at: fc.nat({ max: 10_000 }),
    span: fc.nat({ max: 600 }),
    value: fc.nat({ max: 255 }),
  }),
  { minLength: 1, maxLength: 4 },
)

function mutated(bytes: Buffer, { how, at, span, value }: Mutation): Buffer {
  if (bytes.length === 0) return bytes
  const start = Math.floor((at / 10_001) * bytes.length)
  const end = Math.min(bytes.length, start + 1 + Math.floor((span / 10_000) * bytes.length))
  const [before, piece, after] = [
    bytes.subarray(0, start),
    bytes.subarray(start, end),
    bytes.subarray(end),
  ]
  switch (how) {
    case 'flip': {
      const copy = Buffer.from(bytes)
      copy[start] = (copy[start] as number) ^ (1 << (value % 8))
      return copy
    }
    case 'set': {
      const copy = Buffer.from(bytes)
      copy[start] = value
      return copy
    }
    case 'cut':
      return Buffer.concat([before, after])
    case 'end':
      return before
    case 'insert':
      return Buffer.concat([before, TOKENS[value % TOKENS.length] as Buffer, piece, after])
    case 'double':
      return Buffer.concat([before, piece, piece, after])
  }
}

/** Returns bytes after some mutations, in turn. */
export const mutate = (bytes: Buffer, mutations: readonly Mutation[]): Buffer =>
  mutations.reduce(mutated, bytes)

/** Joins the beginning of one buffer and the end of another. */
export const splice = (one: Buffer, other: Buffer, at: number): Buffer =>
  Buffer.concat([
    one.subarray(0, Math.floor((at / 10_001) * one.length)),
    other.subarray(Math.floor((at / 10_001) * other.length)),
  ])
