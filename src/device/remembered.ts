/**
 * Key logs and rosters in the state database of this device. Every entry was verified in full before
 * it was stored, so that reading them verifies no signature again; every other rule is checked. A
 * state database that a backup brings is authenticated with the backup (AES-256-GCM).
 */
import { encodeBase64url } from '../crypto/base64url.ts'
import { lastPlace } from '../crypto/chain.ts'
import { hashOf } from '../crypto/jws.ts'
import { type KeyLog, type KnownLog, verifyKeyLog } from '../crypto/key-log.ts'
import { Refusal } from '../crypto/refusal.ts'
import { type KeyLogs, type Roster, accountsOf, readEntry, verifyRoster } from '../crypto/roster.ts'
import type { State } from '../state/state.ts'
import { readFacts } from './identity.ts'
import { judgeConsent } from './late-consents.ts'

/** A roster that was checked, and the newest key logs known of everybody whom it names. */
export interface Known {
  readonly roster: Roster
  readonly keyLogs: KeyLogs
}

/** The entries of a key log, and what is known of them; undefined for none. */
export interface RememberedEntries {
  readonly entries: readonly string[]
  readonly known: KnownLog | undefined
}

/** The entries of the key log of an account as they are remembered. */
export function rememberedEntries(
  { logs }: Pick<State, 'logs'>,
  account: string,
): RememberedEntries {
  const stored = logs.keyLog(account)
  const entries = stored.map(({ entry }) => entry)
  const vouchers = new Map<string, string>()
  for (const { entry, voucher } of stored)
    if (voucher !== null) vouchers.set(encodeBase64url(hashOf(entry)), voucher)
  const last = lastPlace(entries)
  return { entries, known: last && { ...last, vouchers } }
}

/** The key log of an account; null when none is remembered. */
export function rememberedLog(state: Pick<State, 'logs'>, account: string): KeyLog | null {
  const { entries, known } = rememberedEntries(state, account)
  return known === undefined ? null : verifyKeyLog(account, entries, known)
}

/** The key logs of the accounts that entries name, those that are remembered. */
export function rememberedKeyLogs(state: State, entries: readonly string[]): KeyLogs {
  const keyLogs = new Map<string, KeyLog>()
  for (const id of accountsOf(entries)) {
    const log = rememberedLog(state, id)
    if (log !== null) keyLogs.set(id, log)
  }
  return keyLogs
}

/** The roster of a connection; null when none is remembered. */
export function rememberedRoster(state: State, connection: string): Known | null {
  const entries = state.logs.read('roster', connection)
  if (entries.length === 0) return null
  const keyLogs = rememberedKeyLogs(state, entries)
  return { roster: verifyRoster(connection, entries, keyLogs, lastPlace(entries)), keyLogs }
}

/** Keep the valid entries that another history has beyond the one that is remembered, as evidence. */
export function keepFork(
  { logs, forks }: State,
  connection: string,
  entries: readonly string[],
): void {
  const seen = new Set(logs.read('roster', connection))
  const other = entries
    .filter((entry) => !seen.has(entry))
    .map((entry) => ({ seq: readEntry(entry).seq, entry }))
  forks.keep(connection, other)
}

/**
 * Remember a roster that was checked, and note one that this account is to leave.
 * @throws Refusal roster_forked where another history was remembered while this one was on its way; this one is evidence then
 */
export function rememberRoster(state: State, roster: Roster): void {
  const { connection, entries } = roster
  const from = (state.logs.head('roster', connection)?.seq ?? -1) + 1
  if (!state.logs.isSameHistory('roster', connection, entries)) {
    keepFork(state, connection, entries)
    throw new Refusal('roster_forked', 'another history of the connection is remembered')
  }
  state.transaction(() => {
    for (const [at, entry] of entries.slice(from).entries())
      state.logs.append({ kind: 'roster', subject: connection, seq: from + at, entry })
    const own = readFacts(state)?.account
    if (own !== undefined && entries.length > from)
      judgeConsent(state, roster, { own, from, log: () => rememberedLog(state, own) })
  })
}

/** Whether nothing newer of this connection is remembered. */
export const isNewest = ({ logs }: State, { connection, seq }: Roster): boolean =>
  (logs.head('roster', connection)?.seq ?? -1) <= seq
