/**
 * Reads the header fields that the guard and the server need, including the token and its scheme.
 *
 * The fields come from Node's raw headers. The object `headers` joins or drops repeated fields, so
 * a proxy might have used a different one of them. Building that object also takes longer than the
 * whole guard.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { tokenDigest } from '../auth/tokens.ts'

/**
 * Header fields by lower-case name; undefined if a field was not sent.
 *
 * Repeated fields are joined (RFC 9110 section 5.3).
 */
export interface Fields {
  host: string | undefined
  authorization: string | undefined
  accept: string | undefined
  origin: string | undefined
  upgrade: string | undefined
  'sec-fetch-site': string | undefined
  'sec-fetch-mode': string | undefined
  'service-worker': string | undefined
  'transfer-encoding': string | undefined
  'countersign-nonce': string | undefined
  dpop: string | undefined
  'idempotency-key': string | undefined
  /** How often the fields were sent that may occur only once. */
  hosts: number
  authorizations: number
  proofs: number
  keys: number
}

/** Marks the lengths of the field names that are read. Most other fields are skipped by length. */
const LENGTHS = Uint8Array.from({ length: 32 }, (_, length) =>
  [4, 6, 7, 13, 14, 15, 17].includes(length) ? 1 : 0,
)

const LETTER_I = 0x69

const joined = (before: string | undefined, value: string) =>
  before === undefined ? value : `${before}, ${value}`

/** Returns the header fields of a request. */
export function fieldsOf({ rawHeaders }: IncomingMessage): Fields {
  const fields: Fields = {
    host: undefined,
    authorization: undefined,
    accept: undefined,
    origin: undefined,
    upgrade: undefined,
    'sec-fetch-site': undefined,
    'sec-fetch-mode': undefined,
    'service-worker': undefined,
    'transfer-encoding': undefined,
    'countersign-nonce': undefined,
    dpop: undefined,
    'idempotency-key': undefined,
    hosts: 0,
    authorizations: 0,
    proofs: 0,
    keys: 0,
  }
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string
    if (LENGTHS[raw.length] !== 1) continue
    // Nearly all clients send Accept-Encoding, which is as long as Idempotency-Key.
    if (raw.length === 15 && (raw.charCodeAt(0) | 0x20) !== LETTER_I) continue
    const name = raw.toLowerCase()
    const value = rawHeaders[i + 1] as string
    switch (name) {
      case 'host':
        fields.hosts++
        fields.host = value
        break
      case 'authorization':
        fields.authorizations++
        fields.authorization = value
        break
      case 'dpop':
        fields.proofs++
        fields.dpop = value
        break
      case 'idempotency-key':
        fields.keys++
        fields['idempotency-key'] = value
        break
      case 'accept':
      case 'origin':
      case 'upgrade':
      case 'sec-fetch-site':
      case 'sec-fetch-mode':
      case 'service-worker':
      case 'transfer-encoding':
      case 'countersign-nonce':
        fields[name] = joined(fields[name], value)
    }
  }
  return fields
}

interface PresentedToken {
  /** The header field as sent. */
  readonly authorization: string
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string | null
  /** SHA-256 of the token in hex; empty if there is no token. */
  readonly digest: string
}

/** The last credential that was sent on a connection. */
const CREDENTIAL = Symbol('credential')
type Connection = Socket & { [CREDENTIAL]?: PresentedToken }

const SCHEMES = /^(bearer|dpop) +(.*)$/i

/**
 * Returns the scheme and the token of an Authorization field.
 *
 * Any other scheme counts as no token (RFC 6750 section 3.1). A malformed token is returned too, so
 * that it gets the same error as every wrong token.
 * @see RFC 6750 section 2.1, RFC 9449 section 7.1
 */
function read(authorization: string, proofs: boolean): Pick<PresentedToken, 'scheme' | 'token'> {
  // A shortcut. The scheme is case-insensitive (RFC 9110 section 11.1), but nearly all clients
  // write it this way.
  if (authorization.startsWith('Bearer '))
    return { scheme: 'Bearer', token: authorization.slice(7).trim() }
  const [, name = '', token = ''] = SCHEMES.exec(authorization) ?? []
  if (name === '') return { scheme: 'Bearer', token: null }
  const scheme = name.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer'
  return { scheme, token: scheme === 'DPoP' && !proofs ? null : token.trimEnd() }
}

/**
 * Returns the credential of a request.
 *
 * Most requests on a connection have the same credential, so the last one is cached with its
 * digest. It is compared only with input of the same connection, so the duration of the comparison
 * reveals nothing.
 * @param proofs whether the listener accepts tokens that are bound to a key; if not, the scheme
 * DPoP counts as no token
 */
export function credentialOf(socket: Socket, fields: Fields, proofs: boolean): PresentedToken {
  const connection: Connection = socket
  const { authorization = '' } = fields
  let known = connection[CREDENTIAL]
  if (known?.authorization !== authorization) {
    const { scheme, token } = read(authorization, proofs)
    const digest = token === null ? '' : tokenDigest(token)
    known = connection[CREDENTIAL] = { authorization, scheme, token, digest }
  }
  return known
}
