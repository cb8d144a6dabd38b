/** Handing over the secret of a connection to devices of its members that have none: a further device, one that was reset. */
import type { Account } from '../api/port.ts'
import { recipientsOf } from '../crypto/roster.ts'
import { type Signing, sealedTo } from './roster-entries.ts'
import { fetchRoster, rememberRoster } from './rosters.ts'
import { holdsSecret } from './secrets.ts'

/**
 * Seal the secret of the current epoch to those of the devices that are a current member's.
 * @param wanted ids of devices, as the account server lists them
 * @returns how many envelopes it took
 * @throws Refusal for a roster or key log that breaks a rule, AppError what the account throws
 */
export async function sealMissing(
  device: Signing,
  account: Account,
  connection: string,
  wanted: readonly string[],
): Promise<number> {
  const known = await fetchRoster(device, account, connection)
  rememberRoster(device.state, known.roster)
  const { roster, keyLogs } = known
  if (roster.rotationPending || !holdsSecret(device.vault, known)) return 0
  const k = device.vault.get(connection)
  const devices = recipientsOf(roster, keyLogs)
    .map((one) => one.device)
    .filter(({ id }) => wanted.includes(id))
  if (k === null || devices.length === 0) return 0
  const envelopes = await sealedTo(device, roster, k, devices)
  if (envelopes.length === 0) return 0
  const { stored } = await account.envelopes.add({ connection, body: { envelopes } })
  return stored
}
