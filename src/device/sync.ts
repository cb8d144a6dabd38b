/**
 * Sync: bring this device's picture of the account up to date, and hand over what was made while the server was away. One
 * run at a time: a request that comes while one runs joins it. The report says what was done. What the person does meanwhile
 * stands: a run writes nothing over it, and the next run sees both.
 */
import { every } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import type { SyncReport } from '../api/rest/sync.ts'
import { PREFIX, isId, parseId } from '../crypto/id.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError, type Code, toAppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ConnectionRow, Member } from '../state/connections.ts'
import type { State } from '../state/state.ts'
import type { Codes } from './codes.ts'
import { guestRow } from './guests.ts'
import type { Identity } from './identity.ts'
import type { Vault } from './vault.ts'

const REPORT = 'last_sync'
const GOOD = 'last_good_sync'
const BATCH = 500
/** A secret is kept before the account hears of what it is for: one that is younger may be about to be used. */
const ORPHAN_MS = 24 * 3600 * 1000

type Trigger = SyncReport['trigger']

export interface Sync {
  /** What the last run did, or null before the first ended. */
  last(): SyncReport | null
  /** When the last run ended that went well, or null before the first. */
  lastGoodAt(): string | null
  /** Run, or join the run under way. Never throws: a failure stands in the report. */
  run(trigger: Trigger): Promise<SyncReport>
  /** The person renamed, revoked or deleted this here: what a run under way was told of it is out of date. */
  changed(id: string): void
  /** Ends when no run is under way. */
  idle(): Promise<void>
}

const isCode = (error: unknown, code: Code) => error instanceof AppError && error.code === code

/** When a connection or a guest code was made, as its id says: Unix milliseconds (RFC 9562 section 5.7). */
function madeAt(id: string): number | null {
  const prefix = [PREFIX.connection, PREFIX.guest].find((one) => isId(one, id))
  return prefix === undefined ? null : Buffer.from(parseId(prefix, id)).readUIntBE(0, 6)
}

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

function complain(report: SyncReport, message: string): void {
  report.ok = false
  report.error = report.error === null ? message : `${report.error} ${message}`
}

export function newSync(options: {
  state: State
  vault: Vault
  codes: Codes
  identity: Identity
  account: () => Account
  now: () => number
  log: Log
}): Sync {
  const { state, vault, codes, identity, account, now, log } = options
  /** What the person changed since the run under way began. */
  const touched = new Set<string>()

  async function pullConnection(connection: Connection, report: SyncReport) {
    const { id, name, members } = connection
    // The curves are loaded when there is something to check.
    const { fetchRoster, fetchSecret } = await import('./secrets.ts')
    const { roster, entries, fresh } = await fetchRoster({ state, identity }, account(), id)
    if (touched.has(id)) return
    state.transaction(() => {
      for (const [seq, entry] of entries.entries())
        state.logs.append({ kind: 'roster', subject: id, seq, entry })
    })
    if (fresh) report.pulled.rosters++
    const secret = vault.has(id) ? null : await fetchSecret(identity, account(), roster)
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
    state.connections.put(row)
    codes.putConnection(row)
    report.pulled.connections++
  }

  /** A connection that cannot be brought here must not keep the others away. */
  async function tryConnection(connection: Connection, report: SyncReport) {
    const { id } = connection
    try {
      await pullConnection(connection, report)
    } catch (error) {
      if (isCode(error, 'not_found')) forget(id)
      else if (error instanceof Refusal) {
        log('warn', 'connection refused', { connection: id, cause: error })
        complain(
          report,
          `What the account server sent of ${id} was refused (${error.reason}): it stays here as it was.`,
        )
      } else throw error
    }
  }

  async function pullConnections(before: ReadonlySet<string>, report: SyncReport) {
    const listed = await every((query) => account().connections.list(query))
    for (const connection of listed) {
      const { id, updated_at } = connection
      const same = state.connections.get(id)?.updated_at === Date.parse(updated_at)
      if (!same || !vault.has(id)) await tryConnection(connection, report)
    }
    const kept = new Set(listed.map(({ id }) => id))
    for (const id of before) if (!kept.has(id)) forget(id)
  }

  async function pullGuestCodes(before: ReadonlySet<string>, report: SyncReport) {
    const listed = await every((query) => account().guestCodes.list(query))
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

  async function pushVerifications(report: SyncReport) {
    for (;;) {
      const items = state.verifications.unpushed(BATCH)
      if (items.length === 0) return
      await account().verifications.push({ body: { items } })
      state.verifications.markPushed(items.map(({ id }) => id))
      report.pushed.verifications += items.length
    }
  }

  async function pushStamps() {
    for (const { id, jws } of state.stamps.withoutReceipt(BATCH)) {
      try {
        const { receipt } = await account().stamps.create({ body: { stamp: jws } })
        state.stamps.setReceipt(id, receipt)
      } catch (error) {
        // Its words are another stamp's. It was given out, so it cannot be signed again; it holds without a receipt.
        if (!isCode(error, 'conflict')) throw error
      }
    }
  }

  /** A crash, or a server that never answered, leaves a secret without what it was made for. */
  function dropOrphans() {
    for (const id of state.secrets.ids()) {
      if (state.connections.get(id) !== null || state.guests.get(id) !== null) continue
      const made = madeAt(id)
      if (made !== null && made < now() - ORPHAN_MS && !touched.has(id)) vault.delete(id)
    }
  }

  async function work(report: SyncReport): Promise<void> {
    // Taken before the server is asked: what is made while it answers is not in its answer, and is no leftover.
    const connections = new Set(state.connections.all().map(({ id }) => id))
    const guests = new Set(state.guests.all().map(({ id }) => id))
    await pullConnections(connections, report)
    await pullGuestCodes(guests, report)
    await pushVerifications(report)
    await pushStamps()
    if (report.ok) dropOrphans()
  }

  async function run(trigger: Trigger): Promise<SyncReport> {
    const report: SyncReport = {
      started_at: timeAt(now()),
      finished_at: '',
      ok: true,
      trigger,
      pulled: { connections: 0, secrets: 0, guest_codes: 0, rosters: 0 },
      pushed: { verifications: 0, envelopes: 0 },
      error: null,
    }
    touched.clear()
    try {
      await work(report)
    } catch (error) {
      const told = toAppError(error)
      log(told.code === 'internal' ? 'error' : 'warn', 'sync failed', {
        trigger,
        cause: told.cause ?? told,
      })
      complain(report, told.message)
    }
    report.finished_at = timeAt(now())
    keep(report)
    return report
  }

  function keep(report: SyncReport): void {
    try {
      state.transaction(() => {
        state.meta.set(REPORT, report)
        if (report.ok) state.meta.set(GOOD, report.finished_at)
      })
    } catch (cause) {
      log('error', 'sync report not kept', { cause })
    }
  }

  let running: Promise<SyncReport> | null = null
  return {
    last: () => state.meta.get(REPORT) as SyncReport | null,
    lastGoodAt: () => state.meta.get(GOOD) as string | null,
    changed: (id) => void touched.add(id),
    run(trigger) {
      running ??= run(trigger).finally(() => {
        running = null
      })
      return running
    },
    idle: async () => {
      await running
    },
  }
}
