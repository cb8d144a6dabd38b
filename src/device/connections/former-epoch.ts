/**
 * Keeps the code key of a previous epoch if a routine rotation ended that epoch.
 * @see protocol, section 4
 */
import { lastPlace } from '../../crypto/logs/chain.ts'
import { LABEL, codeKey } from '../../crypto/code.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import { keyCommitment } from '../../crypto/key-commitment.ts'
import {
  type Roster,
  isHeld,
  openingOf,
  readRosterEntry,
  verifyRoster,
} from '../../crypto/logs/roster.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import type { DeviceContext } from '../context.ts'
import { dropFormerKey, keepFormerKey } from '../codes/former-keys.ts'
import { newestLogs } from '../logs/connection-record.ts'
import { isDoubted } from '../logs/reviewed-keys.ts'
import type { KnownRoster } from '../logs/roster-cache.ts'

/**
 * Returns the roster before the entry that opened the current epoch, if that was routine.
 *
 * A rotation is routine if none was pending, no member suspended the connection, and the entry
 * covers no revocation that the previous epoch did not, by the newest key logs cached here.
 * Otherwise returns null.
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
 * Keeps the code key of the epoch before the current one, or deletes it.
 *
 * The key is kept if the secret of that epoch is still here and a routine rotation ended it. Call
 * this before the secret is replaced.
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
