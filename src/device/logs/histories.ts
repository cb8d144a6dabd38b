/**
 * The histories of a forked connection, as far as this device has valid entries of them.
 *
 * They are this device's branch (the stored roster), the continuations of that branch after the
 * fork, and other branches. An account that left, was removed or lost the owner role in one history
 * must not regain anything through another history.
 */
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { lastPlace } from '../../crypto/logs/chain.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { Refusal } from '../../crypto/refusal.ts'
import {
  type KeyLogs,
  type RosterRole,
  type Roster,
  accountsInRoster,
  readRosterEntry,
  verifyRoster,
} from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'
import { rememberedRoster } from './roster-cache.ts'
import { rememberedKeyLogs } from '../identity/key-log-cache.ts'

/** The roster at the end of a history, and the accounts that the history's entries name. */
interface History {
  readonly roster: Roster
  readonly named: ReadonlySet<string>
}

interface Histories {
  /** The ends of this device's branch, which may have several continuations. */
  readonly ours: readonly History[]
  readonly others: readonly History[]
}

const nameOf = (jws: string) => encodeBase64url(entryHash(jws))

/**
 * Returns the roster up to the first entry that breaks a rule; null if that is the very first
 * entry.
 * @param proven entries that were verified earlier; where the beginnings are equal, signatures are
 *   not verified again
 */
export function validPart(
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  proven: readonly string[],
): Roster | null {
  const differs = entries.findIndex((jws, at) => jws !== proven[at])
  const known = lastPlace(differs === -1 ? entries : entries.slice(0, differs))
  try {
    return verifyRoster(connection, entries, keyLogs, known)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const end = error.details.entry ?? 0
    return end === 0 ? null : validPart(connection, entries.slice(0, end), keyLogs, proven)
  }
}

/** Returns the entries of a history, from the first entry to `end`. */
function lineTo(end: string, jwsOf: ReadonlyMap<string, string>): string[] {
  const line: string[] = []
  for (
    let jws: string | undefined = end;
    jws !== undefined;
    jws = jwsOf.get(readRosterEntry(jws).prev)
  )
    line.push(jws)
  return line.reverse()
}

function historyOf(state: State, branch: Roster, line: readonly string[]): History[] {
  const keyLogs = rememberedKeyLogs(state, line)
  const roster = validPart(branch.connection, line, keyLogs, branch.entries)
  return roster === null ? [] : [{ roster, named: new Set(accountsInRoster(roster.entries)) }]
}

/** Returns the stored histories of a connection; null if there are none. */
export function historiesOf(state: State, connection: string): Histories | null {
  const branch = rememberedRoster(state, connection)
  if (branch === null) return null
  const { entries } = branch.roster
  const others = state.forks.read(connection).map(({ entry }) => entry)
  const jwsOf = new Map([...entries, ...others].map((jws) => [nameOf(jws), jws]))
  const followed = new Set(others.map((jws) => readRosterEntry(jws).prev))
  const all = others
    .filter((jws) => !followed.has(nameOf(jws)))
    .flatMap((end) => historyOf(state, branch.roster, lineTo(end, jwsOf)))
  const isOurs = ({ roster }: History) => roster.entries.includes(entries.at(-1)!)
  const ours = all.filter(isOurs)
  const own = { roster: branch.roster, named: new Set(accountsInRoster(entries)) }
  return { ours: ours.length === 0 ? [own] : ours, others: all.filter((one) => !isOurs(one)) }
}

/**
 * Returns the lowest role that an account has at the ends of the histories.
 * @returns null if it left or was removed in a history; undefined if no history names it
 */
export function lowestRole(
  histories: readonly History[],
  account: string,
): RosterRole | null | undefined {
  const roles = histories
    .filter(({ named }) => named.has(account))
    .map(({ roster }) => roster.members.find((one) => one.account === account)?.role ?? null)
  if (roles.includes(null)) return null
  return roles.includes('member') ? 'member' : roles[0]
}
