/** The secret of a connection on this device: it is that of the current epoch, or none. */
import type { Account } from '../api/port.ts'
import { openEnvelope } from '../crypto/envelope.ts'
import { commitment } from '../crypto/roster.ts'
import { AppError } from '../errors.ts'
import type { Identity } from './identity.ts'
import type { Known } from './remembered.ts'
import type { Vault } from './vault.ts'

/** The secret as it was kept; null also where its record is damaged, since another can be had. */
function keptSecret(vault: Vault, connection: string): Uint8Array | null {
  try {
    return vault.get(connection)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'secret_unavailable')) throw error
    vault.delete(connection)
    return null
  }
}

/** Whether this device holds the secret of the current epoch; one of an earlier epoch is forgotten. */
export function holdsSecret(vault: Vault, { roster }: Known): boolean {
  const { connection, epoch, kCommit } = roster
  const k = keptSecret(vault, connection)
  if (k === null) return false
  if (commitment(connection, epoch, k) === kCommit) return true
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
