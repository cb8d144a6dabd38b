/**
 * Fetches the account's own key log, connections with their secrets, and guest codes.
 *
 * All other data is verified against the key log. The account server's data is compared with what
 * this device has cached. Rejected data changes nothing here.
 */
import { inQuotes } from '../../api/name-text.ts'
import { every } from '../../api/cursor.ts'
import type { Account } from '../../api/port.ts'
import type { Connection } from '../../api/rest/connections.ts'
import type { SyncReport } from '../../api/rest/sync.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { hasEpoch } from '../../state/connections.ts'
import type { State } from '../../state/state.ts'
import type { Codes } from '../codes/codes.ts'
import { dismissed } from '../connections/ignored-connections.ts'
import { dropFormerKey } from '../codes/former-keys.ts'
import { guestAfter, guestRow, isSameGuest } from '../connections/guests.ts'
import { type Identity, readFacts } from '../identity/identity.ts'
import { isNameSettled } from '../identity/signed-name.ts'
import type { KnownRoster } from '../logs/roster-cache.ts'
import type { RosterFork } from '../logs/rosters.ts'
import { isOutcomeUnknown, unmarkAsked, wasAskedLongAgo, unmarkSigned } from '../identity/marks.ts'
import { revokedHere } from '../identity/refusals.ts'
import { noteListed } from '../logs/refused-connections.ts'
import type { Vault } from '../identity/vault.ts'

/**
 * Adds a message for the user to the report. The report's `ok` does not change.
 *
 * Use it for a problem of a single connection that currently verifies no words anyway.
 */
export function remark(report: SyncReport, message: string): void {
  report.error = report.error === null ? message : `${report.error} ${message}`
}

/** Adds a failure to the report, because the data on this device may be out of date. */
export function complain(report: SyncReport, message: string): void {
  report.ok = false
  remark(report, message)
}

/** What the account server returned about the own key log. */
export interface OwnLog {
  /** Whether the server's key log agrees with the one stored on this device. */
  readonly isKnown: boolean
  /** The signed profile that the server has; undefined if it has none. */
  readonly profile: string | undefined
}

/** Codes of failures to sign the name. The next sync tries again. */
const NO_NAME: readonly ErrorCode[] = [
  'conflict',
  'forbidden',
  'invalid_state',
  'rate_limited',
  'validation_failed',
]

const accountGone = () =>
  new AppError(
    'not_signed_in',
    'This account was deleted at the account server. "countersignd logout --forget" deletes its data on this device.',
  )

/**
 * Returns the Refusal behind an error, which may be an oversized response; null if there is none.
 */
function refusalIn(error: unknown): Refusal | null {
  const cause = error instanceof AppError ? error.cause : error
  return cause instanceof Refusal ? cause : null
}

/**
 * Creates the fetching part of a sync.
 * @param of `touched` contains the ids that the user changed since the running sync began; `now`
 *   returns Unix milliseconds
 */
export function newPull(of: {
  state: State
  vault: Vault
  codes: Codes
  identity: Identity
  account: Account
  touched: ReadonlySet<string>
  now: () => number
  log: Log
  requireSession: () => void
}) {
  const { state, vault, codes, identity, account, touched, now, log } = of

  /**
   * Fetches and verifies this account's key log.
   * @returns whether the server's log agrees with the stored one, and the server's signed profile
   * @throws AppError not_signed_in if this device is revoked
   */
  async function ownLog(report: SyncReport): Promise<OwnLog> {
    // While a deletion request may still be in transit, this response does not show whether it
    // succeeded.
    const wasAsked = wasAskedLongAgo(state, now())
    const isHere = (profile: string | undefined): OwnLog => {
      unmarkSigned(state)
      if (wasAsked) unmarkAsked(state)
      return { isKnown: true, profile }
    }
    const seen = state.logs.head('keylog', identity.account)
    try {
      const from = seen?.seq ?? 0
      const { entries, seq, profile } = await account.keyLogs.read({
        account: identity.account,
        from,
      })
      // Usually nothing is new, so the elliptic curve code need not be loaded.
      if (seen !== null && seq === from && entries.length === 1 && entries[0] === seen.entry) {
        if (readFacts(state)?.revoked) throw revokedHere()
        return isHere(profile)
      }
      const { pullKeyLog } = await import('../logs/key-log.ts')
      const { active } = await pullKeyLog(of, account, identity.account)
      if (active.some(({ id }) => id === identity.device)) return isHere(profile)
    } catch (error) {
      const refusal = refusalIn(error)
      if (refusal !== null) return refuseOwn(refusal, report)
      throw error instanceof AppError && error.code === 'not_found' ? accountGone() : error
    }
    throw revokedHere()
  }

  /**
   * Checks whether the key log must be fetched even if the account server lists no change.
   *
   * That is so while the answer to an earlier request is not known, or if this device is revoked.
   */
  const isLogDue = (): boolean => isOutcomeUnknown(state) || readFacts(state)?.revoked === true

  function refuseOwn(refusal: Refusal, report: SyncReport): OwnLog {
    log('error', 'own key log refused', { cause: refusal })
    complain(
      report,
      `The key log of this account that the account server sent was refused (${refusal.reason}). This device uses the cached one.`,
    )
    return { isKnown: false, profile: undefined }
  }

  /**
   * Updates the account's signed name.
   *
   * If that fails, the sync continues, and the next sync tries again.
   */
  async function ownName(profile: string | undefined): Promise<void> {
    if (isNameSettled(state, identity.account, profile)) return
    // Imported only if there is something to sign, because it loads the elliptic curve code.
    const { settleOwnName } = await import('../trust/own-name.ts')
    try {
      await settleOwnName(of, account, profile)
    } catch (error) {
      if (!(error instanceof AppError) || !NO_NAME.includes(error.code)) throw error
      log('warn', 'own name not signed', { cause: error })
    }
  }

  /**
   * Fetches the secret that was sealed to this device, if this device lacks it.
   *
   * The roster is stored even if that fails, so that words of an earlier epoch do not verify.
   * @returns 32 bytes; null if there is nothing to store
   */
  async function pullSecret(known: KnownRoster, report: SyncReport): Promise<Uint8Array | null> {
    const { connection } = known.roster
    const { fetchSecret, holdsSecret } = await import('../connections/secrets.ts')
    if (holdsSecret(of, known)) return null
    try {
      return await fetchSecret(identity, account, known)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      log('warn', 'secret refused', { connection, cause: error })
      remark(
        report,
        error.reason === 'wrong_recipient_kid'
          ? `The secret of ${connection} was sealed to a key that this device no longer has. Its words cannot be checked here until another device syncs and seals the secret again.`
          : `The secret of ${connection} that the account server sent was refused (${error.reason}). Its words cannot be checked here.`,
      )
      return null
    }
  }

  async function pullConnection(connection: Connection, report: SyncReport) {
    const { id } = connection
    // Imported only if there is something to verify, because they load the elliptic curve code.
    const { fetchRoster } = await import('../logs/rosters.ts')
    const { isNewest, rememberRoster } = await import('../logs/roster-cache.ts')
    const { keepConnection } = await import('../logs/connection-record.ts')
    const known = await fetchRoster(of, account, id)
    if (touched.has(id)) return
    rememberRoster(state, known.roster)
    if (!isNewest(state, known.roster)) return
    if (known.fresh) report.pulled.rosters++
    if (known.fork !== null) await noteFork(known, known.fork)
    if (known.fresh && state.consents.connections().includes(id)) {
      const { settleConsent } = await import('../connections/consents.ts')
      settleConsent(of, known.roster)
    }
    // This account was removed, but the account server still lists the connection.
    if (!known.roster.members.some((member) => member.account === identity.account))
      return forget(id)
    const secret = await pullSecret(known, report)
    if (touched.has(id) || !isNewest(state, known.roster)) return
    state.transaction(() => {
      keepConnection(of, connection, known)
      if (secret !== null) vault.put(id, secret)
    })
    if (secret !== null) report.pulled.secrets++
    report.pulled.connections++
  }

  /**
   * Records the fork behind a replacement that the user or another device of the account joined.
   */
  async function noteFork({ roster }: KnownRoster, fork: RosterFork) {
    const { seesFork } = await import('../connections/replacing.ts')
    const { readRosterEntry } = await import('../../crypto/logs/roster.ts')
    const { actor: opener, replaces } = readRosterEntry(roster.entries[0]!)
    if (replaces !== undefined) await seesFork(of, account, { connection: replaces, opener, fork })
  }

  /** Fetches one connection. A failure must not prevent fetching the others. */
  async function tryConnection(connection: Connection, report: SyncReport) {
    const { id } = connection
    try {
      await pullConnection(connection, report)
    } catch (error) {
      const refusal = refusalIn(error)
      if (error instanceof AppError && error.code === 'not_found') forget(id)
      else if (refusal !== null) await refuse(connection, refusal, report)
      else throw error
    }
  }

  async function refuse({ id, name }: Connection, refusal: Refusal, report: SyncReport) {
    const { reason } = refusal
    log('warn', 'connection refused', { connection: id, cause: refusal })
    const { holdRefused } = await import('../logs/connection-record.ts')
    holdRefused({ state, codes }, { id, name }, reason)
    complain(
      report,
      reason === 'roster_forked'
        ? `${inQuotes(name)} (${id}) forked: the account server shows two histories of it, so its words can no longer be checked. A device of an owner opens a new connection that replaces it.`
        : `Data from the account server for ${id} was refused (${reason}). The connection stays unchanged on this device.`,
    )
  }

  /**
   * Marks the consents that another device of the account declined. Does nothing if none is open.
   */
  async function declined(): Promise<void> {
    if (state.consents.connections().length === 0) return
    const { noteDeclined } = await import('../connections/consents.ts')
    await noteDeclined(state, account)
  }

  /**
   * Fetches the connections that changed, and those without a secret.
   * @returns whether the next sync has nothing to fetch unless the server changes something
   */
  async function connections(before: ReadonlySet<string>, report: SyncReport): Promise<boolean> {
    const gone = dismissed(state)
    const all = await every((query) => account.connections.list(query))
    const listed = all.filter(({ id }) => !gone.has(id))
    for (const connection of listed) {
      if (!isCurrent(connection)) await tryConnection(connection, report)
    }
    const listedIds = new Set(listed.map(({ id }) => id))
    for (const id of before) if (!listedIds.has(id)) forget(id)
    // Not after a failure, because a connection that becomes readable later would then count as
    // new.
    if (report.ok) noteListed(state)
    return listed.every(isCurrent)
  }

  /**
   * Checks whether a stored connection needs no data from the account server while the server lists
   * no later change.
   */
  function isWhole(id: string): boolean {
    const row = state.connections.get(id)
    const hold = row?.hold
    // A fork is permanent, and the user was already informed. The account server has no secret for
    // a connection that was ended.
    return hold === 'roster_forked' || hold === 'ended' || (hasEpoch(row) && vault.has(id))
  }

  /** Checks whether this device has a listed connection in its newest state. */
  function isCurrent({ id, updated_at }: Connection): boolean {
    const known = state.connections.get(id)
    if (known?.hold === 'roster_forked') return true
    return known?.updated_at === Date.parse(updated_at) && isWhole(id)
  }

  async function guestCodes(before: ReadonlySet<string>, report: SyncReport) {
    const all = await every((query) => account.guestCodes.list(query))
    for (const guest of all) {
      if (touched.has(guest.id)) continue
      const known = state.guests.get(guest.id)
      const listed = guestRow(guest)
      const isOwn = known !== null && vault.has(guest.id)
      const row = isOwn ? guestAfter(known, listed) : listed
      if (known !== null && isSameGuest(known, row)) continue
      // An ended code stays ended even if the server lists it as active, because its secret was
      // deleted.
      if (known !== null && known.state !== 'active' && row.state === 'active') continue
      if (row.state !== 'active') vault.delete(row.id)
      state.guests.put(row)
      codes.putGuest(row)
      report.pulled.guest_codes++
    }
    const listedIds = new Set(all.map(({ id }) => id))
    for (const id of before) if (!listedIds.has(id)) forget(id)
  }

  /**
   * Deletes a connection or a guest code from this device.
   *
   * The stored roster stays. Otherwise a server could omit a connection for a while and then
   * present an older roster.
   */
  function forget(id: string): void {
    codes.remove(id)
    vault.delete(id)
    dropFormerKey(of, id)
    state.connections.delete(id)
    state.invites.clear(id)
    state.guests.delete(id)
  }

  /** Checks whether every stored connection is whole. */
  const areWhole = (): boolean => state.connections.ids().every(isWhole)

  return { ownLog, isLogDue, ownName, declined, connections, areWhole, guestCodes }
}
