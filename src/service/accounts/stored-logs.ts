/**
 * Key logs and rosters from entries in this database. Each entry was verified in full before it
 * was stored, so these functions verify no stored signature again; they check every other rule.
 * They read in slices, because the logs of 200 members are long.
 */
import { lastPlace } from '../../crypto/logs/chain.ts'
import { type KeyLog, verifyingKeyLog } from '../../crypto/logs/key-log.ts'
import { type KeyLogs, type Roster, verifyingRoster } from '../../crypto/logs/roster.ts'
import { inSlices } from '../../slices.ts'

/**
 * Returns the key log of an account from its stored entries, at least one.
 * @param next entries that are not stored yet, which are verified in full
 * @throws Refusal for the first rule that `next` breaks
 */
export const storedKeyLog = (
  account: string,
  entries: readonly string[],
  next: readonly string[] = [],
): Promise<KeyLog> => inSlices(verifyingKeyLog(account, [...entries, ...next], lastPlace(entries)))

/** Returns the roster of a connection from its stored entries, as `storedKeyLog` does. */
export const storedRoster = (
  connection: string,
  { entries, keyLogs }: { entries: readonly string[]; keyLogs: KeyLogs },
  next: readonly string[] = [],
): Promise<Roster> =>
  inSlices(verifyingRoster(connection, [...entries, ...next], keyLogs, lastPlace(entries)))
