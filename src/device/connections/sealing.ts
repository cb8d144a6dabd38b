/**
 * Seals a connection's secret to members' devices that lack it, because they are new or were reset.
 */
import type { Account } from '../../api/port.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import { isNewest } from '../logs/roster-cache.ts'
import {
  type Signing,
  requireCompleteLog,
  handOver,
  readRoster,
  recipientsHere,
} from './roster-entries.ts'
import { holdsSecret } from './secrets.ts'

/**
 * Seals the secret of the current epoch to the given devices, if they belong to current members.
 * @param wanted device ids, as the account server lists them
 * @returns the number of envelopes that the account server stored
 * @throws AppError as `readRoster` does, invalid_state if the history forked
 */
export async function sealMissing(
  device: Signing,
  account: Account,
  connection: string,
  wanted: readonly string[],
): Promise<number> {
  requireCompleteLog(device, connection)
  const known = await readRoster(device, account, connection)
  const { roster } = known
  // A newer roster was stored meanwhile, and its epoch may have another secret.
  if (!isNewest(device.state, roster)) return 0
  if (roster.ended || presentMembers(device.state, roster).rotationPending) return 0
  if (!holdsSecret(device, known)) return 0
  const k = device.vault.get(connection)
  if (k === null) return 0
  const ids = new Set(wanted)
  const recipients = recipientsHere(device, known).filter((one) => ids.has(one.device.id))
  return handOver(device, account, { roster, k }, recipients)
}
