/**
 * How the command line and the daemon know each other: both can read the secret of the state folder, and nobody else can.
 * A program that squats on the port can neither prove itself nor learn anything that opens the real daemon.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { tokenFrom } from '../crypto/token.ts'

const mac = (secret: Uint8Array, ...parts: string[]) =>
  createHmac('sha256', secret).update(parts.join('\0')).digest()

/**
 * What the daemon answers to a nonce of the command line.
 * @param secret the state folder's, 32 bytes
 * @param address where the command line connected to, so that a proof cannot be passed on from another port
 * @returns base64url, 32 bytes
 */
export const daemonProof = (secret: Uint8Array, nonce: string, address: string): string =>
  mac(secret, 'countersign/v1/daemon', nonce, address).toString('base64url')

/** Whether a proof is the daemon's, compared in constant time. */
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
 * The token of the command line for one run of the daemon. It is derived on both sides and stored on neither.
 * @param nonce the run's, from `runtime.json`
 */
export const commandLineToken = (secret: Uint8Array, nonce: string): string =>
  tokenFrom('csd_', mac(secret, 'countersign/v1/command-line', nonce))
