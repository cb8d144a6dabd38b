/**
 * Key logs and rosters of entries that this database holds. Each entry was verified in full before
 * it was stored, so that reading them verifies no signature again; every other rule is checked. They
 * are read in slices, since the logs of 200 members are long.
 */
import { lastPlace } from '../../crypto/logs/chain.ts'
import { type KeyLog, verifyingKeyLog } from '../../crypto/logs/key-log.ts'
import { type KeyLogs, type Roster, verifyingRoster } from '../../crypto/logs/roster.ts'
import { inSlices } from '../../slices.ts'

/**
 * The key log of an account from its stored entries, at least one.
 * @param next entries that are not stored yet, which are verified in full
 * @throws Refusal for the first rule that `next` breaks
 */
export const storedKeyLog = (
  account: string,
  entries: readonly string[],
  next: readonly string[] = [],
): Promise<KeyLog> => inSlices(verifyingKeyLog(account, [...entries, ...next], lastPlace(entries)))

/** The roster of a connection from its stored entries. As `storedKeyLog`. */
export const storedRoster = (
  connection: string,
  { entries, keyLogs }: { entries: readonly string[]; keyLogs: KeyLogs },
  next: readonly string[] = [],
): Promise<Roster> =>
  inSlices(verifyingRoster(connection, [...entries, ...next], keyLogs, lastPlace(entries)))
