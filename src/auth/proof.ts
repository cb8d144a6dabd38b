/**
 * Authenticates the command line and the daemon to each other.
 *
 * Both can read the state folder's secret, and no other user can. A program that occupies the
 * daemon's port cannot prove that it is the daemon, and receives nothing that the real daemon would
 * accept.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { tokenFrom } from '../crypto/token.ts'

const mac = (secret: Uint8Array, ...parts: string[]) =>
  createHmac('sha256', secret).update(parts.join('\0')).digest()

/** Returns the address of a Unix socket, for proofs. */
export const socketAddress = (path: string): string => `unix:${path}`

/**
 * Returns the daemon's proof for a nonce that the command line sent.
 * @param secret the state folder's secret, 32 bytes
 * @param address the address that the command line connected to, so that a proof cannot be relayed
 *   from another port
 * @returns 32 bytes as base64url
 */
export const daemonProof = (secret: Uint8Array, nonce: string, address: string): string =>
  mac(secret, 'countersign/v1/daemon', nonce, address).toString('base64url')

/** Checks whether a proof is the daemon's, in constant time. */
export function isDaemonProof(
  proof: string,
  secret: Uint8Array,
  nonce: string,
  address: string,
): boolean {
  const expected = Buffer.from(daemonProof(secret, nonce, address))
  const given = Buffer.from(proof)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/**
 * Returns the command line's token for one run of the daemon.
 *
 * Both sides derive the token, and neither stores it.
 * @param nonce the nonce of the run, from `runtime.json`
 */
export const commandLineToken = (secret: Uint8Array, nonce: string): string =>
  tokenFrom('csd_', mac(secret, 'countersign/v1/command-line', nonce))
