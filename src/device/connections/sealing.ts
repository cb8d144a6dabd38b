/** Handing over the secret of a connection to devices of its members that have none: a further device, one that was reset. */
import type { Account } from '../../api/port.ts'
import { present } from '../logs/deleted-members.ts'
import { isNewest } from '../logs/roster-cache.ts'
import {
  type Signing,
  demandWhole,
  handOver,
  readRoster,
  recipientsHere,
} from './roster-entries.ts'
import { holdsSecret } from './secrets.ts'

/**
 * Seal the secret of the current epoch to those of the devices that are a current member's.
 * @param wanted ids of devices, as the account server lists them
 * @returns how many envelopes it took
 * @throws AppError as `readRoster` does, invalid_state where the history forked
 */
export async function sealMissing(
  device: Signing,
  account: Account,
  connection: string,
  wanted: readonly string[],
): Promise<number> {
  demandWhole(device, connection)
  const known = await readRoster(device, account, connection)
  const { roster } = known
  // Of an epoch that is over meanwhile, the secret that is here is none.
  if (!isNewest(device.state, roster)) return 0
  if (roster.ended || present(device.state, roster).rotationPending) return 0
  if (!holdsSecret(device, known)) return 0
  const k = device.vault.get(connection)
  if (k === null) return 0
  const ids = new Set(wanted)
  const recipients = recipientsHere(device, known).filter((one) => ids.has(one.device.id))
  return handOver(device, account, { roster, k }, recipients)
}
