/**
 * Fetches rosters from the account server with the key logs that they depend on, and verifies them.
 *
 * A roster must continue what was stored before. If there are two valid histories, both are stored
 * as evidence.
 */
import type { Account } from '../../api/port.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { Refusal } from '../../crypto/refusal.ts'
import {
  type KeyLogs,
  type Roster,
  accountsInRoster,
  readRosterEntry,
  verifyingRoster,
} from '../../crypto/logs/roster.ts'
import { inSlices } from '../../slices.ts'
import { noteDeparted } from './deleted-members.ts'
import { validPart } from './histories.ts'
import { type Remembering, pullKeyLog } from './key-log.ts'
import { readPages } from './log-pages.ts'
import { keepProfile } from './profiles.ts'
import { type KnownRoster, keepFork, rememberRoster } from './roster-cache.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'

/**
 * Returns the key logs of accounts. Fetches a log only if it is longer than its stored part.
 * @param lengths each log's newest seq, as the account server reports it; used only to decide
 *   whether there is more to fetch
 * @throws Refusal if a log breaks a rule, goes back or forks
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

/** Two entries (JWSs) with the same seq in a roster. */
export type RosterFork = readonly [one: string, other: string]

/** Returns what this device has stored of a roster; undefined if nothing. */
function seenOf({ logs }: Remembering['state'], connection: string) {
  const entries = logs.read('roster', connection)
  const heads = entries.map(entryHash)
  return entries.length === 0 ? undefined : { seq: heads.length - 1, head: heads.at(-1)!, heads }
}

/**
 * Verifies a roster against its stored entries.
 * @throws Refusal as `verifyRoster` does; if the roster forks, the valid part of the other history
 *   is stored
 */
async function judgeRoster(
  { state }: Remembering,
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  known = seenOf(state, connection),
): Promise<Roster> {
  try {
    return await inSlices(verifyingRoster(connection, entries, keyLogs, known))
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'roster_forked') {
      // If a list contains two successors of one entry, verification fails at the second successor.
      const second = entries.slice(Number(error.details.entry)).slice(0, 1)
      const valid = validPart(connection, entries, keyLogs, state.logs.read('roster', connection))
      keepFork(state, connection, [...new Set([...(valid?.entries ?? []), ...second])])
    }
    throw error
  }
}

/**
 * Fetches a roster in pages from the newest stored entry on, and verifies it.
 *
 * If there are several pages, stores all but the last as they arrive.
 * @returns also `fresh`, whether there was a new entry; and `fork`, for a connection that replaces
 *   another: the fork of the replaced one, as the account server reports it
 * @throws Refusal if the roster or a key log breaks a rule, goes back or forks, or is too large
 *   (`too_large`); if the roster forks, the other history is stored
 */
export async function fetchRoster(
  device: Remembering,
  account: Account,
  connection: string,
): Promise<KnownRoster & { fresh: boolean; fork: RosterFork | null }> {
  const { state } = device
  const before = state.logs.head('roster', connection)
  // Compared with what was stored before the request: an entry that was signed here meanwhile
  // cannot be in the response.
  const verify = async (entries: readonly string[], keyLogs: KeyLogs) => {
    const seen = seenOf(state, connection)
    const known =
      before === null || seen === undefined
        ? undefined
        : { seq: before.seq, head: entryHash(before.entry), heads: seen.heads }
    const roster = await judgeRoster(device, connection, entries, keyLogs, known)
    device.requireSession()
    return roster
  }
  let wasStored = false
  const { entries, last } = await readPages({
    read: (from) => account.rosters.read({ connection, from }),
    known: state.logs.read('roster', connection),
    most: state.logs.mostCharacters,
    seqOf: (jws) => readRosterEntry(jws).seq,
    async keep(part) {
      // This device's branch does not grow after the fork was seen.
      if (state.forks.has(connection)) return
      const keyLogs = await keyLogsOf(device, account, accountsInRoster(part), placesIn(part))
      rememberRoster(state, await verify(part, keyLogs))
      wasStored = true
    },
  })
  const { key_logs, fork = null } = last
  const lengths = new Map(key_logs.map(({ account: of, seq }) => [of, seq]))
  const departed = new Map(
    key_logs.flatMap(({ account: of, departed_epoch: epoch }) =>
      epoch === undefined ? [] : [[of, epoch] as const],
    ),
  )
  const keyLogs = await keyLogsOf(device, account, accountsInRoster(entries), lengths)
  const roster = await verify(entries, keyLogs)
  noteDeparted(state, roster, departed, device.identity.account)
  for (const { account: of, profile } of key_logs) {
    const log = keyLogs.get(of)
    if (log !== undefined) keepProfile(state, log, profile)
  }
  const newest = state.logs.head('roster', connection)?.seq ?? -1
  return { roster, keyLogs, fresh: wasStored || roster.seq > newest, fork }
}

/**
 * Checks two entries with the same seq that an owner presents. The history forks if one is stored
 * and the other is valid too. The other one is then stored.
 * @returns whether the history forks
 * @throws any error from the account server
 */
export async function judgeFork(
  device: Remembering,
  account: Account,
  connection: string,
  fork: RosterFork,
): Promise<boolean> {
  const known = device.state.logs.read('roster', connection)
  try {
    const [one, other] = fork.map((jws) => readRosterEntry(jws))
    const isPlace = one!.seq === other!.seq && fork.includes(known[one!.seq] ?? '')
    const unseen = fork.find((jws) => jws !== known[one!.seq])
    if (!isPlace || unseen === undefined) return false
    const entries = [...known.slice(0, one!.seq), unseen]
    const keyLogs = await keyLogsOf(device, account, accountsInRoster(entries), placesIn([unseen]))
    await judgeRoster(device, connection, entries, keyLogs)
    return false
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return error.reason === 'roster_forked'
  }
}

/** Returns, by account, the newest key log seqs that entries (JWSs) name. */
function placesIn(entries: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  const note = (account: string, { seq }: { seq: number }) =>
    places.set(account, Math.max(seq, places.get(account) ?? 0))
  for (const jws of entries) {
    const { actor, actor_log, member, member_log } = readRosterEntry(jws)
    note(actor, actor_log)
    if (member !== undefined && member_log !== undefined) note(member, member_log)
  }
  return places
}
