/** The secret of a connection on this device: it is that of the current epoch, or none. */
import type { Account } from '../../api/port.ts'
import { openEnvelope } from '../../crypto/envelope.ts'
import { Refusal, type Reason } from '../../crypto/refusal.ts'
import { keyCommitment } from '../../crypto/key-commitment.ts'
import type { DeviceContext } from '../context.ts'
import { keepFormer } from './former-epoch.ts'
import type { Identity } from '../identity/identity.ts'
import type { Known } from '../logs/roster-cache.ts'

/** An envelope that was sealed before, or after, the roster was read: nothing is wrong with it. */
const OTHER_EPOCH: readonly Reason[] = ['old_epoch', 'unknown_epoch']

/**
 * Whether this device holds the secret of the current epoch. One of an earlier epoch, or that is
 * damaged, is deleted; of the epoch before a routine rotation the code key is kept.
 */
export function holdsSecret(
  device: Pick<DeviceContext, 'state' | 'vault' | 'now'>,
  known: Known,
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
 * Fetch the secret of a connection from the envelope sealed to this device. One of this epoch that
 * gives no secret is deleted at the account server, so that others seal another.
 * @returns 32 bytes, null when there is no envelope
 * @throws Refusal for an envelope that breaks a rule, and what the account throws
 */
export async function fetchSecret(
  identity: Identity,
  account: Account,
  { roster }: Known,
): Promise<Uint8Array | null> {
  const { envelopes } = await account.envelopes.read({ connection: roster.connection })
  // In the order of epochs; only that of the newest opens anything.
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
