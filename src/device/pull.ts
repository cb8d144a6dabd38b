/**
 * What a sync fetches: the own key log, which everything else is checked against, connections with their secrets, guest codes.
 * What the account server sends is checked against what this device has seen; what is refused changes nothing here.
 */
import { every } from '../api/cursor.ts'
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import type { SyncReport } from '../api/rest/sync.ts'
import { Refusal } from '../crypto/refusal.ts'
import type { Roster } from '../crypto/roster.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ConnectionRow, Member } from '../state/connections.ts'
import type { State } from '../state/state.ts'
import type { Codes } from './codes.ts'
import { guestRow } from './guests.ts'
import type { Identity } from './identity.ts'
import { dropOpening } from './openings.ts'
import { unmarkSigned } from './sign-out-mark.ts'
import type { Vault } from './vault.ts'

/** Names are the local ones: whoever is known keeps the name under which they were accepted. */
function pinned(members: Connection['members'], known: ConnectionRow | null): Member[] {
  const names = new Map(known?.members.map(({ user_id, display_name }) => [user_id, display_name]))
  return members
    .filter((member) => member.state === 'active')
    .map(({ user_id, display_name }) => ({
      user_id,
      display_name: names.get(user_id) ?? display_name,
    }))
}

/** Tell of something that went wrong, beside what is told already. */
export function complain(report: SyncReport, message: string): void {
  report.ok = false
  report.error = report.error === null ? message : `${report.error} ${message}`
}

/**
 * The fetching half of a sync.
 * @param of `touched` holds what the person changed since the run under way began
 */
export function newPull(of: {
  state: State
  vault: Vault
  codes: Codes
  identity: Identity
  account: Account
  touched: ReadonlySet<string>
  log: Log
}) {
  const { state, vault, codes, identity, account, touched, log } = of

  /**
   * @returns whether the account server has the log as this device knows it
   * @throws AppError not_signed_in when this device is revoked
   */
  async function ownLog(report: SyncReport): Promise<boolean> {
    const seen = state.logs.head('keylog', identity.account)
    const { entries } = await account.keyLogs.read({ account: identity.account })
    // Mostly nothing is new; then the curves need not be loaded to check it.
    if (seen !== null && entries.length === seen.seq + 1 && entries.at(-1) === seen.entry) {
      unmarkSigned(state)
      return true
    }
    const { pullKeyLog } = await import('./key-log.ts')
    try {
      const { active } = await pullKeyLog(state, account, identity.account)
      if (active.some(({ id }) => id === identity.device)) {
        unmarkSigned(state)
        return true
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      log('error', 'own key log refused', { cause: error })
      complain(
        report,
        `The key log of this account, as the account server shows it, was refused (${error.reason}): this device goes by the one it knows.`,
      )
      return false
    }
    throw new AppError(
      'not_signed_in',
      'This device was revoked. To use the account here again, run "countersignd logout" and sign in anew.',
    )
  }

  /**
   * The secret that was sealed to this device; null while there is none. One that a revoked device sealed is none: nobody can say
   * whether it did so before (section 4). That is no fault of the server's, and the rest of the connection is good.
   */
  async function secretOf(roster: Roster): Promise<Uint8Array | null> {
    const { fetchSecret } = await import('./secrets.ts')
    try {
      return await fetchSecret(identity, account, roster)
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== 'revoked_signer') throw error
      log('warn', 'secret of a revoked device refused', { connection: roster.connection })
      return null
    }
  }

  async function pullConnection(connection: Connection, report: SyncReport) {
    const { id, name, members } = connection
    // The curves are loaded when there is something to check.
    const { fetchRoster } = await import('./secrets.ts')
    const { roster, entries, fresh } = await fetchRoster({ state, identity }, account, id)
    if (touched.has(id)) return
    state.transaction(() => {
      for (const [seq, entry] of entries.entries())
        state.logs.append({ kind: 'roster', subject: id, seq, entry })
    })
    if (fresh) report.pulled.rosters++
    const secret = vault.has(id) ? null : await secretOf(roster)
    if (touched.has(id)) return
    if (secret !== null) {
      vault.put(id, secret)
      report.pulled.secrets++
    }
    const row = {
      id,
      name,
      epoch: roster.epoch,
      head: roster.epochHead,
      members: pinned(members, state.connections.get(id)),
      updated_at: Date.parse(connection.updated_at),
    }
    state.transaction(() => {
      state.connections.put(row)
      // It was opened here, and only the answer was lost.
      dropOpening(state, id)
    })
    codes.putConnection(row)
    report.pulled.connections++
  }

  /** A connection that cannot be brought here must not keep the others away. */
  async function tryConnection(connection: Connection, report: SyncReport) {
    const { id } = connection
    try {
      await pullConnection(connection, report)
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') forget(id)
      else if (error instanceof Refusal) {
        log('warn', 'connection refused', { connection: id, cause: error })
        complain(
          report,
          `What the account server sent of ${id} was refused (${error.reason}): it stays here as it was.`,
        )
      } else throw error
    }
  }

  async function connections(before: ReadonlySet<string>, report: SyncReport) {
    const listed = await every((query) => account.connections.list(query))
    for (const connection of listed) {
      const { id, updated_at } = connection
      const same = state.connections.get(id)?.updated_at === Date.parse(updated_at)
      if (!same || !vault.has(id)) await tryConnection(connection, report)
    }
    const kept = new Set(listed.map(({ id }) => id))
    for (const id of before) if (!kept.has(id)) forget(id)
  }

  async function guestCodes(before: ReadonlySet<string>, report: SyncReport) {
    const listed = await every((query) => account.guestCodes.list(query))
    for (const guest of listed) {
      if (touched.has(guest.id)) continue
      const row = guestRow(guest)
      const known = state.guests.get(row.id)
      if (known?.state === row.state && known.label === row.label) continue
      // What has ended does not begin again, whatever the server says: its secret is gone.
      if (known !== null && known.state !== 'active' && row.state === 'active') continue
      if (row.state !== 'active') vault.delete(row.id)
      state.guests.put(row)
      codes.putGuest(row)
      report.pulled.guest_codes++
    }
    const kept = new Set(listed.map(({ id }) => id))
    for (const id of before) if (!kept.has(id)) forget(id)
  }

  /** The roster stays: a server that leaves a connection out for a while must not get to show an older one later. */
  function forget(id: string): void {
    codes.remove(id)
    vault.delete(id)
    state.connections.delete(id)
    state.guests.delete(id)
  }

  return { ownLog, connections, guestCodes }
}
