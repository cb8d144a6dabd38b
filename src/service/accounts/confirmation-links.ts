/** Links that are mailed, to be followed by whoever reads the mailbox. Of a link only the SHA-256 of its token is kept. */
import { hash, randomBytes } from 'node:crypto'

/** What is kept of a token, in hex. */
export const hashOf = (token: string): string => hash('sha256', token, 'hex')

/** A new link, of 32 random bytes in base64url, and what is kept of it. */
export function newLink(publicUrl: string): { link: string; tokenHash: string } {
  const token = randomBytes(32).toString('base64url')
  return { link: `${publicUrl}/confirm/${token}`, tokenHash: hashOf(token) }
}
