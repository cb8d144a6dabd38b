/**
 * Links that are sent by mail for the reader of the mailbox. The database stores only the SHA-256
 * of a link's token.
 */
import { hash, randomBytes } from 'node:crypto'

/** Returns the stored form of a token: SHA-256 in hex. */
export const tokenHash = (token: string): string => hash('sha256', token, 'hex')

/** Returns a new link and the hash of its token, which is 32 random bytes in base64url. */
export function newLink(publicUrl: string): { link: string; tokenHash: string } {
  const token = randomBytes(32).toString('base64url')
  return { link: `${publicUrl}/confirm/${token}`, tokenHash: tokenHash(token) }
}
