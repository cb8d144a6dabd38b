/** Reads the token of a request and its scheme. */
import type { Socket } from 'node:net'
import { tokenDigest } from '../auth/tokens.ts'
import type { Fields } from './fields.ts'

export interface PresentedToken {
  /** The header field as sent. */
  readonly authorization: string
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string | null
  /** SHA-256 of the token in hex; empty without one. */
  readonly digest: string
}

/** The last credential that a connection sent. */
const CREDENTIAL = Symbol('credential')
type Connection = Socket & { [CREDENTIAL]?: PresentedToken }

const SCHEMES = /^(bearer|dpop) +(.*)$/i

/**
 * Returns the scheme and the token of an Authorization field (RFC 6750 section 2.1, RFC 9449
 * section 7.1). Another scheme counts as no token (RFC 6750 section 3.1). A malformed token is
 * passed on, so that it gets the same error as every wrong token.
 */
function read(authorization: string, proofs: boolean): Pick<PresentedToken, 'scheme' | 'token'> {
  // The scheme is case-insensitive (RFC 9110 section 11.1); nearly all clients use this spelling.
  if (authorization.startsWith('Bearer '))
    return { scheme: 'Bearer', token: authorization.slice(7).trim() }
  const [, name = '', token = ''] = SCHEMES.exec(authorization) ?? []
  if (name === '') return { scheme: 'Bearer', token: null }
  const scheme = name.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer'
  return { scheme, token: scheme === 'DPoP' && !proofs ? null : token.trimEnd() }
}

/**
 * Returns the credential of a request. A connection mostly sends the same one again, so its last
 * one is cached with its digest. It is compared only with input of the same connection, so the
 * duration of the comparison leaks nothing.
 * @param proofs whether the listener accepts tokens bound to a key; if not, the scheme DPoP
 * counts as no token
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
