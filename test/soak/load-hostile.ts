/** Hostile requests, sent over a connection with honest requests before and after them. */
import type { Question } from './load-crowd.ts'

interface Hostile {
  readonly kind: string
  readonly want: string
  readonly lines: readonly string[]
  readonly body?: string
}

const JSON_TYPE = 'Content-Type: application/json'
const NEW_TOKEN = '{"name":"hostile","scope":"full"}'
const OWN_HOST = 'Host: {host}'
const MAKE = 'POST /api/v1/token HTTP/1.1'
const LENGTH = `Content-Length: ${NEW_TOKEN.length}`
const SMUGGLED = [MAKE, OWN_HOST, JSON_TYPE, LENGTH, '', NEW_TOKEN].join('\r\n')

const ALL: readonly Hostile[] = [
  {
    kind: 'under another name',
    want: '403 host_not_allowed',
    lines: [MAKE, 'Host: evil.example', JSON_TYPE, LENGTH],
    body: NEW_TOKEN,
  },
  {
    kind: 'from a page',
    want: '403 origin_not_allowed',
    lines: [MAKE, OWN_HOST, 'Origin: http://evil.example', JSON_TYPE, LENGTH],
    body: NEW_TOKEN,
  },
  {
    kind: 'two framings',
    want: '400 bad_request',
    lines: [MAKE, OWN_HOST, JSON_TYPE, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
    body: `0\r\n\r\n${SMUGGLED}`,
  },
  {
    kind: 'a wrong token',
    want: '401 invalid_token',
    lines: [
      'GET /api/v1/connections HTTP/1.1',
      OWN_HOST,
      `Authorization: Bearer cs_${'a'.repeat(43)}`,
    ],
  },
  {
    kind: 'too long',
    want: '413 payload_too_large',
    lines: [MAKE, OWN_HOST, JSON_TYPE, 'Content-Length: 99999999'],
  },
  {
    kind: 'headers without end',
    want: '431 headers_too_large',
    lines: ['GET /health HTTP/1.1', OWN_HOST, `X: ${'a'.repeat(17_000)}`],
  },
  {
    kind: 'a path that climbs',
    want: '400 bad_request',
    lines: ['GET /api/v1/../v1/status HTTP/1.1', OWN_HOST],
  },
  {
    kind: 'no HTTP',
    want: '400 bad_request',
    lines: ['\x16\x03\x01\x02\x00\x01\x00\x01'],
  },
]

/** Returns one of them, by its number, in bytes for a port. */
export function hostile(
  number: number,
  port: number,
): { readonly kind: string; readonly bytes: Buffer; readonly question: Question } {
  const { kind, want, lines, body = '' } = ALL[number % ALL.length] as Hostile
  const [first, ...fields] = lines
  const text = [first, `X-Kind: hostile ${kind}`, ...fields, '', body].join('\r\n')
  return {
    kind: `hostile ${kind}`,
    bytes: Buffer.from(text.replaceAll('{host}', `127.0.0.1:${port}`), 'latin1'),
    question: { want },
  }
}
