/**
 * A connection's secret on this device: the current epoch's secret, or none.
 *
 * If a routine rotation ended the previous epoch, that epoch's code key is kept too.
 * @see protocol, section 4
 */
import type { Account } from '../../api/port.ts'
import { codeKey, LABEL } from '../../crypto/code.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import { openEnvelope } from '../../crypto/envelope.ts'
import { keyCommitment } from '../../crypto/logs/roster-form.ts'
import { lastPlace } from '../../crypto/logs/chain.ts'
import {
  isHeld,
  openingOf,
  readRosterEntry,
  type Roster,
  verifyRoster,
} from '../../crypto/logs/roster.ts'
import { Refusal, type RefusalReason } from '../../crypto/refusal.ts'
import { dropFormerKey, keepFormerKey } from '../codes/former-keys.ts'
import type { DeviceContext } from '../context.ts'
import type { Identity } from '../identity/identity.ts'
import { newestLogs } from '../logs/connection-record.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import { isDoubted } from '../logs/reviewed-keys.ts'
import type { KnownRoster } from '../logs/roster-cache.ts'

/**
 * Returns the roster before the current epoch if a routine rotation began that epoch.
 *
 * A rotation is routine if none was pending, no member suspended the connection, and the newest key
 * logs stored here have no revocation that only the new epoch covers.
 * @returns null if the rotation was not routine
 */
function beforeRoutine(state: DeviceContext['state'], known: KnownRoster): Roster | null {
  const { connection, entries, unfit } = known.roster
  const opening = openingOf(known.roster)
  if (readRosterEntry(entries[opening]!).op !== 'rotate' || unfit.length > 0) return null
  const keyLogs = newestLogs(state, known)
  const earlier = entries.slice(0, opening)
  const before = verifyRoster(connection, earlier, keyLogs, lastPlace(earlier))
  if (isHeld(before, keyLogs) || presentMembers(state, before) !== before) return null
  return before.members.some((member) => isDoubted(state, member)) ? null : before
}

/**
 * Keeps the code key of the previous epoch, or deletes it.
 *
 * The key is kept if the previous epoch's secret is still here and a routine rotation ended that
 * epoch. Must be called before the secret is replaced.
 * @param known the current state of the connection
 */
export function keepFormer(
  device: Pick<DeviceContext, 'state' | 'vault' | 'now'>,
  known: KnownRoster,
): void {
  const { connection } = known.roster
  const k = device.vault.find(connection)
  if (k === null) return
  const before = beforeRoutine(device.state, known)
  if (before === null || keyCommitment(connection, before.epoch, k) !== before.kCommit)
    return dropFormerKey(device, connection)
  const { epoch, epochHead: head, members } = before
  const subject = parseId(ID_PREFIX.connection, connection)
  const kc = codeKey({ label: LABEL.connection, key: k, subject, epoch, head })
  k.fill(0)
  const speakers = members.map(({ account }) => account)
  keepFormerKey(device, { connection, epoch, speakers, at: device.now() }, kc)
  kc.fill(0)
}

/** Reasons that are not errors: the envelope was sealed before or after the roster was read. */
const OTHER_EPOCH: readonly RefusalReason[] = ['old_epoch', 'unknown_epoch']

/**
 * Checks whether this device has the secret of the current epoch.
 *
 * Deletes a damaged secret and an earlier epoch's secret. Keeps the code key of the previous epoch
 * if a routine rotation ended it.
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
 * Fetches a connection's secret from the envelope that is sealed to this device.
 *
 * If the current epoch's envelope cannot be opened, deletes it at the account server, so that other
 * devices seal a new one.
 * @returns 32 bytes; null if there is no envelope
 * @throws Refusal if the envelope breaks a rule, and any error from the account server
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
