/**
 * Routine rotations: each epoch gets a new secret after 90 to 104 days.
 *
 * Together with the renewal of sealing keys this limits what a copied keychain can open, unless
 * the copy keeps acting as the device (copied-keys.ts). Each device waits for a different time,
 * and the first one rotates. The connection is not suspended meanwhile.
 * @see protocol, section 4
 */
import { createHash } from 'node:crypto'
import type { EpochRow } from '../../state/connections.ts'
import type { Signing } from './roster-entries.ts'

const DAY_MS = 24 * 3_600_000
const SHORTEST_MS = 90 * DAY_MS
const SPREAD_MS = 14 * DAY_MS

/**
 * Returns how long this device waits after it first saw an epoch. The result is deterministic.
 */
function waitMs(device: string, { connection, epoch }: EpochRow): number {
  const hash = createHash('sha256').update(`${device} ${connection} ${epoch}`).digest()
  return SHORTEST_MS + (hash.readUInt32BE(0) / 2 ** 32) * SPREAD_MS
}

/** Returns the epochs for which this device should rotate now, oldest first. */
export function routineDue({ state, identity, now }: Signing): EpochRow[] {
  const at = now()
  state.epochs.note(at)
  return state.epochs
    .seenUntil(at - SHORTEST_MS)
    .filter((row) => row.seen_at + waitMs(identity.device, row) <= at)
    .filter(({ connection }) => state.connections.get(connection)?.hold === null)
}
