/**
 * Rosters as the account server shows them: fetched with the key logs that they rest on, and checked. They must continue what was seen
 * before. Of two valid histories both are kept, as evidence.
 */
import type { Account } from '../api/port.ts'
import { hashOf } from '../crypto/jws.ts'
import { Refusal } from '../crypto/refusal.ts'
import { type KeyLogs, type Roster, accountsOf, readEntry, verifyRoster } from '../crypto/roster.ts'
import { noteDeparted } from './departed.ts'
import { validPart } from './histories.ts'
import { type Remembering, pullKeyLog } from './key-log.ts'
import { keepProfile } from './profiles.ts'
import { type Known, keepFork, rememberedLog } from './remembered.ts'

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

/** Two entries (JWSs) at one place of a roster. */
export type Fork = readonly [one: string, other: string]

/** What this device has seen of a roster; undefined for nothing. */
function seenOf({ logs }: Remembering['state'], connection: string) {
  const entries = logs.read('roster', connection)
  const heads = entries.map(hashOf)
  return entries.length === 0 ? undefined : { seq: heads.length - 1, head: heads.at(-1)!, heads }
}

/**
 * Check a roster by what was seen of it.
 * @throws Refusal as `verifyRoster` does; of a roster that forks, the other history is kept as far
 *   as it is valid
 */
function judgeRoster(
  { state }: Remembering,
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  known = seenOf(state, connection),
): Roster {
  try {
    return verifyRoster(connection, entries, keyLogs, known)
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'roster_forked') {
      // A list can have both successors of one entry: the second is where it is refused.
      const second = entries.slice(Number(error.details.entry)).slice(0, 1)
      const valid = validPart(connection, entries, keyLogs)
      keepFork(state, connection, [...new Set([...valid, ...second])])
    }
    throw error
  }
}

/**
 * Fetch the roster of a connection, and check it.
 * @returns also whether there was anything new, which is not remembered yet, and of a connection that
 *   replaces another the fork of that one, as the account server says
 * @throws Refusal for a roster or a key log that breaks a rule, goes back or forks; of a roster that forks, the other history is kept
 */
export async function fetchRoster(
  device: Remembering,
  account: Account,
  connection: string,
): Promise<Known & { fresh: boolean; fork: Fork | null }> {
  const { state } = device
  const before = state.logs.head('roster', connection)
  const { entries, key_logs, fork = null } = await account.rosters.read({ connection })
  const lengths = new Map(key_logs.map(({ account: of, seq }) => [of, seq]))
  const departed = new Map(
    key_logs.flatMap(({ account: of, departed_epoch: epoch }) =>
      epoch === undefined ? [] : [[of, epoch] as const],
    ),
  )
  const keyLogs = await keyLogsOf(device, account, accountsOf(entries), lengths)
  const seen = seenOf(state, connection)
  // What was signed here meanwhile is no entry that the account server left out.
  const known =
    before === null || seen === undefined
      ? undefined
      : { seq: before.seq, head: hashOf(before.entry), heads: seen.heads }
  const roster = judgeRoster(device, connection, entries, keyLogs, known)
  device.demandSeat()
  noteDeparted(state, roster, departed, device.identity.account)
  for (const { account: of, profile } of key_logs) {
    const log = keyLogs.get(of)
    if (log !== undefined) keepProfile(state, log, profile)
  }
  return { roster, keyLogs, fresh: roster.seq >= (seen?.heads.length ?? 0), fork }
}

/**
 * Judge two entries at one place of a roster that is remembered here, as an owner shows them: where
 * the one is remembered and the other is valid too, the history forks, and the other one is kept.
 * @returns whether it forks
 * @throws what the account throws
 */
export async function judgeFork(
  device: Remembering,
  account: Account,
  connection: string,
  fork: Fork,
): Promise<boolean> {
  const known = device.state.logs.read('roster', connection)
  try {
    const [one, other] = fork.map((jws) => readEntry(jws))
    const isPlace = one!.seq === other!.seq && fork.includes(known[one!.seq] ?? '')
    const unseen = fork.find((jws) => jws !== known[one!.seq])
    if (!isPlace || unseen === undefined) return false
    const entries = [...known.slice(0, one!.seq), unseen]
    const keyLogs = await keyLogsOf(device, account, accountsOf(entries), placesIn(unseen))
    judgeRoster(device, connection, entries, keyLogs)
    return false
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return error.reason === 'roster_forked'
  }
}

/** The places of key logs that an entry names, by account. */
function placesIn(jws: string): ReadonlyMap<string, number> {
  const { actor, actor_log, member, member_log } = readEntry(jws)
  const places = new Map([[actor, actor_log.seq]])
  if (member !== undefined && member_log !== undefined) places.set(member, member_log.seq)
  return places
}
