/**
 * Rosters as this device knows them: fetched with the key logs that they rest on, checked, remembered. What the account server shows
 * must continue what was seen before. Of two valid histories both are kept, as evidence.
 */
import type { Account } from '../api/port.ts'
import { hashOf } from '../crypto/jws.ts'
import { verifyKeyLog } from '../crypto/key-log.ts'
import { Refusal } from '../crypto/refusal.ts'
import { type KeyLogs, type Roster, accountsOf, verifyRoster } from '../crypto/roster.ts'
import type { State } from '../state/state.ts'
import { pullKeyLog } from './key-log.ts'

/** A roster that was checked, and the newest key logs known of everybody whom it names. */
export interface Known {
  readonly roster: Roster
  readonly keyLogs: KeyLogs
}

/** What keeps rosters and key logs. */
interface Remembering {
  readonly state: State
  /** Throws AppError not_signed_in once this device has signed out. */
  readonly demandSeat: () => void
}

/** The key log of an account as it was remembered; null when none was. */
function rememberedLog({ logs }: State, account: string) {
  const entries = logs.read('keylog', account)
  return entries.length === 0 ? null : verifyKeyLog(account, entries)
}

/**
 * The key logs of accounts, those fetched that are not known as far as they go.
 * @param lengths the newest seq of each, as the account server says; it is believed only that there is more to ask for
 * @throws Refusal for a log that breaks a rule, goes back or forks
 */
async function keyLogsOf(
  device: Remembering,
  account: Account,
  accounts: readonly string[],
  lengths: ReadonlyMap<string, number>,
): Promise<KeyLogs> {
  const keyLogs = new Map()
  for (const id of accounts) {
    const known = rememberedLog(device.state, id)
    const isWhole = known !== null && known.seq >= (lengths.get(id) ?? 0)
    keyLogs.set(id, isWhole ? known : await pullKeyLog(device, account, id))
  }
  return keyLogs
}

/** The entries of another history than the one that was remembered. */
function otherHistory({ logs }: State, connection: string, entries: readonly string[]) {
  const seen = new Set(logs.read('roster', connection))
  return entries.map((entry, seq) => ({ seq, entry })).filter(({ entry }) => !seen.has(entry))
}

/**
 * Fetch the roster of a connection, and check it.
 * @returns also whether there was anything new, which is not remembered yet
 * @throws Refusal for a roster or a key log that breaks a rule, goes back or forks; of a roster that forks, the other history is kept
 */
export async function fetchRoster(
  device: Remembering,
  account: Account,
  connection: string,
): Promise<Known & { fresh: boolean }> {
  const { state } = device
  const before = state.logs.head('roster', connection)
  const { entries, key_logs } = await account.rosters.read({ connection })
  const lengths = new Map(key_logs.map(({ account: of, seq }) => [of, seq]))
  const keyLogs = await keyLogsOf(device, account, accountsOf(entries), lengths)
  const seen = state.logs.read('roster', connection).map(hashOf)
  const known =
    before === null ? undefined : { seq: before.seq, head: hashOf(before.entry), heads: seen }
  try {
    const roster = verifyRoster(connection, entries, keyLogs, known)
    return { roster, keyLogs, fresh: roster.seq >= seen.length }
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'roster_forked')
      state.forks.keep(connection, otherHistory(state, connection, entries))
    throw error
  }
}

/** Remember a roster that was checked. */
export function rememberRoster(state: State, { connection, entries }: Roster): void {
  state.transaction(() => {
    const next = (state.logs.head('roster', connection)?.seq ?? -1) + 1
    for (const [at, entry] of entries.slice(next).entries())
      state.logs.append({ kind: 'roster', subject: connection, seq: next + at, entry })
  })
}

/** The roster of a connection as it was remembered, checked anew; null when none was. */
export function rememberedRoster(state: State, connection: string): Known | null {
  const entries = state.logs.read('roster', connection)
  if (entries.length === 0) return null
  const keyLogs = new Map()
  for (const id of accountsOf(entries)) {
    const log = rememberedLog(state, id)
    if (log !== null) keyLogs.set(id, log)
  }
  return { roster: verifyRoster(connection, entries, keyLogs), keyLogs }
}

/** Whether nothing newer of this connection is remembered. */
export const isNewest = ({ logs }: State, { connection, seq }: Roster): boolean =>
  (logs.head('roster', connection)?.seq ?? -1) <= seq
