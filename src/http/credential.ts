/** What a request presents as its token, and how. */
import type { Socket } from 'node:net'
import { tokenDigest } from '../auth/tokens.ts'
import type { Fields } from './fields.ts'

export interface Credential {
  /** The header field as it came. */
  readonly authorization: string
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string | null
  /** SHA-256 of the token in hex; empty without one. */
  readonly digest: string
}

/** What a connection sent as its credential the last time. */
const CREDENTIAL = Symbol('credential')
type Connection = Socket & { [CREDENTIAL]?: Credential }

const SCHEMES = /^(bearer|dpop) +(.*)$/i

/**
 * What an Authorization field gives as scheme and token (RFC 6750 section 2.1, RFC 9449 section 7.1). Another scheme is no token
 * (RFC 6750 section 3.1); what does not look like one is passed on all the same, to be refused in the words for every wrong token.
 */
function read(authorization: string, proofs: boolean): Pick<Credential, 'scheme' | 'token'> {
  // The scheme is case-insensitive (RFC 9110 section 11.1); nearly everybody writes it so.
  if (authorization.startsWith('Bearer '))
    return { scheme: 'Bearer', token: authorization.slice(7).trim() }
  const [, name = '', token = ''] = SCHEMES.exec(authorization) ?? []
  if (name === '') return { scheme: 'Bearer', token: null }
  const scheme = name.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer'
  return { scheme, token: scheme === 'DPoP' && !proofs ? null : token.trimEnd() }
}

/**
 * The credential of a request. A connection mostly sends the same one again, so it keeps it with its digest: compared with
 * nothing but what it sent itself, so that the time it takes tells nobody anything.
 * @param proofs whether the listener takes tokens that are bound to a key; elsewhere the scheme DPoP is no token
 */
export function credentialOf(socket: Socket, fields: Fields, proofs: boolean): Credential {
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
