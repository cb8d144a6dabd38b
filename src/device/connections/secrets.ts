/** The secret of a connection on this device: that of the current epoch, or none. */
import type { Account } from '../../api/port.ts'
import { openEnvelope } from '../../crypto/envelope.ts'
import { Refusal, type RefusalReason } from '../../crypto/refusal.ts'
import { keyCommitment } from '../../crypto/key-commitment.ts'
import type { DeviceContext } from '../context.ts'
import { keepFormer } from './former-epoch.ts'
import type { Identity } from '../identity/identity.ts'
import type { KnownRoster } from '../logs/roster-cache.ts'

/** Reasons that are no error: the envelope was sealed before or after the roster was read. */
const OTHER_EPOCH: readonly RefusalReason[] = ['old_epoch', 'unknown_epoch']

/**
 * Checks whether this device has the secret of the current epoch.
 *
 * Deletes a damaged secret and one of an earlier epoch. Keeps the code key of the epoch before a
 * routine rotation.
 */
export function holdsSecret(
  device: Pick<DeviceContext, 'state' | 'vault' | 'now'>,
  known: KnownRoster,
): boolean {
  const { vault } = device
  const { connection, epoch, kCommit } = known.roster
  if (!vault.has(connection)) return false
  const k = vault.find(connection)
  if (k !== null && keyCommitment(connection, epoch, k) === kCommit) return true
  keepFormer(device, known)
  vault.delete(connection)
  return false
}

/**
 * Fetches the secret of a connection from the envelope that is sealed to this device.
 *
 * If an envelope of this epoch does not open, this deletes it at the account server, so that
 * other devices seal a new one.
 * @returns 32 bytes, or null if there is no envelope
 * @throws Refusal for an envelope that breaks a rule, and what the account throws
 */
export async function fetchSecret(
  identity: Identity,
  account: Account,
  { roster }: KnownRoster,
): Promise<Uint8Array | null> {
  const { envelopes } = await account.envelopes.read({ connection: roster.connection })
  // The list is ordered by epoch, and only the newest envelope can be opened.
  const envelope = envelopes.at(-1)
  if (envelope === undefined) return null
  const { seals } = await identity.keys()
  try {
    return await openEnvelope(envelope, roster, identity.device, seals)
  } catch (error) {
    if (error instanceof Refusal && !OTHER_EPOCH.includes(error.reason))
      await account.envelopes.delete({ connection: roster.connection, epoch: roster.epoch })
    throw error
  }
}
