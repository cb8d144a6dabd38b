/**
 * Routine rotations (protocol, section 4): each epoch gets another secret after 90 days and up to 14
 * more. With the renewal of sealing keys, that ends what a copy of a keychain opens, unless the copy
 * goes on acting as the device (copied-keys.ts). Each device waits another time; the first wins.
 * Nothing is held meanwhile.
 */
import { createHash } from 'node:crypto'
import type { EpochRow } from '../../state/epochs.ts'
import type { Signing } from './roster-entries.ts'

const DAY_MS = 24 * 3_600_000
const SHORTEST_MS = 90 * DAY_MS
const SPREAD_MS = 14 * DAY_MS

/** How long after it first saw an epoch a device rotates: the same whenever it is asked. */
function waitMs(device: string, { connection, epoch }: EpochRow): number {
  const hash = createHash('sha256').update(`${device} ${connection} ${epoch}`).digest()
  return SHORTEST_MS + (hash.readUInt32BE(0) / 2 ** 32) * SPREAD_MS
}

/** The epochs for which a routine rotation by this device is due, oldest first. */
export function routineDue({ state, identity, now }: Signing): EpochRow[] {
  const at = now()
  state.epochs.note(at)
  return state.epochs
    .seenUntil(at - SHORTEST_MS)
    .filter((row) => row.seen_at + waitMs(identity.device, row) <= at)
    .filter(({ connection }) => state.connections.get(connection)?.hold === null)
}
