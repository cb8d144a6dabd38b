/** The secret of a connection on this device: it is that of the current epoch, or none. */
import type { Account } from '../api/port.ts'
import { openEnvelope } from '../crypto/envelope.ts'
import { keyCommitment } from '../crypto/key-commitment.ts'
import type { Identity } from './identity.ts'
import type { Known } from './remembered.ts'
import type { Vault } from './vault.ts'

/** Whether this device holds the secret of the current epoch; one of an earlier epoch, or that is damaged, is forgotten. */
export function holdsSecret(vault: Vault, { roster }: Known): boolean {
  const { connection, epoch, kCommit } = roster
  if (!vault.has(connection)) return false
  const k = vault.find(connection)
  if (k !== null && keyCommitment(connection, epoch, k) === kCommit) return true
  vault.delete(connection)
  return false
}

/**
 * Fetch the secret of a connection from the envelope sealed to this device.
 * @returns 32 bytes, null when there is no envelope
 * @throws Refusal for an envelope that breaks a rule
 */
export async function fetchSecret(
  identity: Identity,
  account: Account,
  { roster, keyLogs }: Known,
): Promise<Uint8Array | null> {
  const { envelopes } = await account.envelopes.read({ connection: roster.connection })
  // In the order of epochs; only that of the newest opens anything.
  const envelope = envelopes.at(-1)
  if (envelope === undefined) return null
  const { seal } = await identity.keys()
  return openEnvelope({ envelope, roster, keyLogs, recipient: identity.device, seal })
}
