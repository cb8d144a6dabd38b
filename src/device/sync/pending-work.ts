/**
 * Does a sync's pending work for other members, after everything was fetched.
 *
 * The work is: due rotations, adding members, and sealing secrets to devices that lack them. The
 * account server's requests are only hints. This device decides each one from verified rosters and
 * key logs.
 */
import { createHash } from 'node:crypto'
import type { Account } from '../../api/port.ts'
import { inQuotes } from '../../api/name-text.ts'
import type { SyncReport } from '../../api/rest/sync.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { EpochRow } from '../../state/connections.ts'
import type { Signing } from '../connections/roster-entries.ts'
import { isFullLog } from '../logs/full-logs.ts'
import type { RotationWaits } from '../logs/hold-ups.ts'
import { unagreed } from '../logs/refused-connections.ts'
import { complain, remark } from './pull.ts'

const DAY_MS = 24 * 3_600_000
/**
 * The minimum duration of an epoch, and the range in which the devices' additional waits differ.
 */
const SHORTEST_MS = 90 * DAY_MS
const SPREAD_MS = 14 * DAY_MS

/**
 * Returns how long this device waits after it first saw an epoch, in milliseconds. The result is
 * always the same for one device and epoch.
 */
function waitMs(device: string, { connection, epoch }: EpochRow): number {
  const hash = createHash('sha256').update(`${device} ${connection} ${epoch}`).digest()
  return SHORTEST_MS + (hash.readUInt32BE(0) / 2 ** 32) * SPREAD_MS
}

/**
 * Returns the epochs for which this device should rotate now, oldest first.
 *
 * Each epoch gets a new secret after 90 to 104 days. Together with the renewal of sealing keys,
 * this limits what a copied keychain can decrypt, unless the copy continues to act as the device.
 * Each device waits for a different time, and the first one rotates. Meanwhile the connection is
 * not suspended.
 * @see protocol, section 4
 */
function routineDue({ state, identity, now }: Signing): EpochRow[] {
  const at = now()
  state.epochs.note(at)
  return state.epochs
    .seenUntil(at - SHORTEST_MS)
    .filter((row) => row.seen_at + waitMs(identity.device, row) <= at)
    .filter(({ connection }) => state.connections.get(connection)?.hold === null)
}

/**
 * Codes of failures that concern one connection only. The next sync tries again, and this sync
 * continues with the other connections.
 */
const PASSING: readonly ErrorCode[] = ['conflict', 'forbidden', 'invalid_state', 'not_found']
/** States that only the user can resolve. They are not the account server's fault. */
const THEIRS: readonly unknown[] = ['consent_refused', 'last_owner', 'left_out', 'log_full']
/** Codes of failures that also concern one connection only, but that the user should see. */
const WRONG: readonly ErrorCode[] = ['backend_error', 'validation_failed']

/**
 * Returns the message for a failure of one connection.
 * @returns null if a later sync of this or another device settles it
 * @throws the failure, if it is not limited to one connection
 */
function warningFor(connection: string, error: unknown): string | null {
  if (error instanceof Refusal)
    return `Data from the account server for ${connection} was refused (${error.reason}).`
  if (!(error instanceof AppError)) throw error
  if (WRONG.includes(error.code) || isFullLog(error)) return `${connection}: ${error.message}`
  if (PASSING.includes(error.code)) return null
  throw error
}

const unwanted = (connection: string) =>
  `This account was added to ${connection} by an approval that was withdrawn or is older than 30 days, so this device left the connection.`

const addedNote = (connection: string, by: string) =>
  `This account was added to ${connection} by an approval of ${by}, a device that is revoked, so this device leaves the connection. If you want to be in it, ask for a new invitation, and approve it on a device that is not revoked.`

const declined = (name: string, connection: string) =>
  `This account was added to ${name} by an approval of this device. According to the account server, another device declined the invitation. If you declined the invitation, leave the connection: "countersignd connection leave ${connection}".`

const joined = (forked: string) =>
  `${forked} forked, and an owner replaced it with a new connection, which this device agreed to join.`

const replaced = (forked: string, replacement: string) =>
  `${forked} forked, and was replaced by a new connection (${replacement}), to which its members are invited. Devices that saw both histories join the new connection automatically. Other devices ask their user.`

type Hints = Awaited<ReturnType<Account['duties']['read']>>
const NO_HINTS: Hints = { joins: [], unsealed: [] }

/** Creates the function that does a sync's pending work for other members. */
export function newDuties(of: {
  device: Signing
  account: Account
  waits: RotationWaits
  log: Log
}) {
  const { device, account, waits, log } = of
  const { state, vault } = device

  const named = (id: string) => inQuotes(state.connections.get(id)?.name ?? id)

  /**
   * Does the work for one connection. A failure must not prevent the work for other connections.
   */
  async function attempt(connection: string, report: SyncReport, work: () => Promise<number>) {
    try {
      report.pushed.envelopes += await work()
    } catch (error) {
      if (error instanceof AppError && THEIRS.includes(error.details.state)) {
        log('info', 'pending work failed', { connection, cause: error })
        return remark(report, `${named(connection)}: ${error.message}`)
      }
      const warning = warningFor(connection, error)
      log(warning === null ? 'info' : 'warn', 'pending work failed', { connection, cause: error })
      if (warning !== null) complain(report, warning)
    }
  }

  async function rotations(report: SyncReport) {
    for (const id of state.connections.pending()) {
      const { rotateIfDue } = await import('../connections/members.ts')
      await attempt(id, report, () => rotateIfDue(device, account, id, waits))
    }
  }

  async function routine(report: SyncReport) {
    for (const row of routineDue(device)) {
      const { rotateRoutinely } = await import('../connections/members.ts')
      await attempt(row.connection, report, () => rotateRoutinely(device, account, row))
    }
  }

  /**
   * Rotates if this account did not get a secret because a row did not match its key log.
   *
   * Skips a connection that received its secret in another way.
   */
  async function unfitRows(report: SyncReport) {
    const missing = state.connections.ids().filter((id) => !vault.has(id))
    for (const id of missing) {
      if (state.connections.get(id)?.hold !== null) continue
      const { rememberedRoster } = await import('../logs/roster-cache.ts')
      const unfit = rememberedRoster(state, id)?.roster.unfit ?? []
      if (!unfit.includes(device.identity.account)) continue
      const { rotateForRow } = await import('../connections/members.ts')
      await attempt(id, report, () => rotateForRow(device, account, id))
    }
  }

  /**
   * Leaves connections to which the account was added by an invalid consent.
   *
   * A consent is also invalid if a now revoked device signed it.
   */
  async function leaves(report: SyncReport) {
    for (const id of state.consents.connections()) {
      const { leaveUnlessAgreed } = await import('../connections/consents.ts')
      await attempt(id, report, async () => {
        const outcome = await leaveUnlessAgreed(device, account, id)
        if (outcome === 'left') remark(report, unwanted(id))
        if (outcome === 'declined') remark(report, declined(named(id), id))
        return 0
      })
    }
    for (const id of unagreed(state)) {
      // A connection that the account server no longer lists cannot be left now.
      if (state.connections.get(id) === null) continue
      const { leaveUnagreed, consenterOf } = await import('../connections/consents.ts')
      const by = consenterOf(device, id)
      if (by === null) continue
      log('warn', 'added by the approval of a revoked device', { connection: id, device: by })
      remark(report, addedNote(named(id), by))
      await attempt(id, report, async () => {
        await leaveUnagreed(device, account, id)
        return 0
      })
    }
  }

  /** Adds the accounts that this device invited. Ignores other accounts that the server names. */
  async function joins(report: SyncReport, hints: Hints['joins']) {
    for (const { connection, target: member } of state.invites.again()) {
      const { confirmMemberKeys } = await import('../connections/members.ts')
      await attempt(connection, report, () =>
        confirmMemberKeys(device, account, { connection, member }),
      )
    }
    for (const { connection, account: member, email, consent } of hints) {
      const target = email?.toLowerCase() ?? member
      if (state.invites.get(connection, target) === null) continue
      const { addInvited } = await import('../connections/members.ts')
      await attempt(connection, report, () =>
        addInvited(device, account, { connection, member, target, consent }),
      )
    }
  }

  /** Joins connections that replace forked ones, and creates the replacements that are due. */
  async function replacements(report: SyncReport, hints: NonNullable<Hints['replacements']>) {
    state.replacements.note(device.now())
    for (const hint of hints) {
      const { joinReplacement } = await import('../connections/replacing.ts')
      await attempt(hint.invitation, report, async () => {
        const forked = await joinReplacement(device, account, hint)
        if (forked !== null) remark(report, joined(named(forked)))
        return 0
      })
    }
    for (const row of state.replacements.forked()) {
      const { hearHistories, judgeReplacement, leaveDuplicates, openReplacement } =
        await import('../connections/replacing.ts')
      await attempt(row.connection, report, async () => {
        await hearHistories(device, account, row)
        const made = await openReplacement(device, account, row)
        if (made !== null) {
          remark(report, replaced(named(row.connection), made.id))
          const { notInvited } = await import('../logs/returned.ts')
          for (const one of made.leftOut) remark(report, notInvited(state, made.id, one))
        }
        judgeReplacement(device, row.connection)
        await leaveDuplicates(device, account, row.connection)
        return 0
      })
    }
  }

  /** Reports the members who returned by a fork. The user decides about them. */
  async function returns(report: SyncReport) {
    for (const id of state.connections.pending()) {
      await attempt(id, report, async () => {
        const { rememberedRoster } = await import('../logs/roster-cache.ts')
        const { cameBack, returnedIn } = await import('../logs/returned.ts')
        const roster = rememberedRoster(state, id)?.roster
        const returned =
          roster === undefined ? [] : returnedIn(state, device.identity.account, roster)
        for (const one of returned) remark(report, `${named(id)}: ${cameBack(state, id, one)}`)
        return 0
      })
    }
  }

  async function seals(report: SyncReport, hints: Hints['unsealed']) {
    for (const { connection, devices } of hints) {
      if (!vault.has(connection)) continue
      const { sealMissing } = await import('../connections/sealing.ts')
      await attempt(connection, report, () => sealMissing(device, account, connection, devices))
    }
  }

  /** Does one kind of pending work. If the server limits the rate, the next sync continues. */
  async function unlessLimited(report: SyncReport, work: () => Promise<void>) {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'rate_limited')) throw error
      log('warn', 'pending work postponed', { cause: error })
      remark(report, error.message)
    }
  }

  /**
   * @param hasNews whether the account server may list work; otherwise it is not asked
   * @returns whether the account server listed no work
   */
  return async (report: SyncReport, hasNews: boolean): Promise<boolean> => {
    await unlessLimited(report, () => leaves(report))
    await unlessLimited(report, () => rotations(report))
    await unlessLimited(report, () => routine(report))
    await unlessLimited(report, () => unfitRows(report))
    if (state.invites.all().length > 0) {
      const { dropEnded } = await import('../connections/invites.ts')
      await dropEnded(device, account)
    }
    const hints = hasNews ? await account.duties.read({}) : NO_HINTS
    const { joins: waiting, unsealed, replacements: offered = [] } = hints
    await unlessLimited(report, () => replacements(report, offered))
    await returns(report)
    await unlessLimited(report, () => joins(report, waiting))
    await unlessLimited(report, () => seals(report, unsealed))
    return waiting.length + unsealed.length + offered.length === 0
  }
}
