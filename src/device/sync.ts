/**
 * Sync: bring this device's picture of the account up to date, and hand over what was made while the server was away. One
 * run at a time: a request that comes while one runs joins it. The report says what was done.
 */
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import type { GuestCode } from '../api/rest/guest-codes.ts'
import type { SyncReport } from '../api/rest/sync.ts'
import type { State } from '../state/state.ts'
import type { Codes } from './codes.ts'
import type { Identity } from './identity.ts'
import type { Vault } from './vault.ts'

const REPORT = 'last_sync'
const BATCH = 500
const PAGE = 200

type Trigger = SyncReport['trigger']

export interface Sync {
  /** What the last run did, or null before the first ended. */
  last(): SyncReport | null
  /** Run, or join the run under way. Never throws: a failure stands in the report. */
  run(trigger: Trigger): Promise<SyncReport>
  /** Ends when no run is under way. */
  idle(): Promise<void>
}

interface Page<T> {
  items: T[]
  next_cursor: string | null
}

async function all<T>(list: (query: { limit: number; cursor?: string }) => Promise<Page<T>>) {
  const items: T[] = []
  let cursor: string | null = null
  do {
    const page: Page<T> = await list({ limit: PAGE, ...(cursor === null ? {} : { cursor }) })
    items.push(...page.items)
    cursor = page.next_cursor
  } while (cursor !== null)
  return items
}

export function newSync(options: {
  state: State
  vault: Vault
  codes: Codes
  identity: Identity
  account: () => Account
  now: () => number
}): Sync {
  const { state, vault, codes, identity, account, now } = options

  async function pullConnection(connection: Connection, report: SyncReport) {
    const { id, name, members } = connection
    // The curves are loaded when there is something to check.
    const { pullRoster, pullSecret } = await import('./secrets.ts')
    const { roster, fresh } = await pullRoster({ state, identity }, account(), id)
    if (fresh) report.pulled.rosters++
    if (!vault.has(id) && (await pullSecret({ identity, vault }, account(), roster)))
      report.pulled.secrets++
    const active = members.filter((member) => member.state === 'active')
    const row = {
      id,
      name,
      epoch: roster.epoch,
      head: roster.epochHead,
      members: active.map(({ user_id, display_name }) => ({ user_id, display_name })),
      updated_at: Date.parse(connection.updated_at),
    }
    state.connections.put(row)
    codes.putConnection(row)
    report.pulled.connections++
  }

  async function pullConnections(before: ReadonlySet<string>, report: SyncReport) {
    const listed = await all<Connection>((query) => account().connections.list(query))
    for (const connection of listed) {
      const known = state.connections.get(connection.id)
      const same = known?.updated_at === Date.parse(connection.updated_at)
      if (!same || !vault.has(connection.id)) await pullConnection(connection, report)
    }
    const kept = new Set(listed.map(({ id }) => id))
    for (const id of before) if (!kept.has(id)) forget(id)
  }

  async function pullGuestCodes(before: ReadonlySet<string>, report: SyncReport) {
    const listed = await all<GuestCode>((query) => account().guestCodes.list(query))
    for (const guest of listed) {
      const row = {
        id: guest.id,
        label: guest.label,
        state: guest.state,
        expires_at: Date.parse(guest.expires_at),
        created_at: Date.parse(guest.created_at),
      }
      const known = state.guests.get(row.id)
      if (known?.state === row.state && known.label === row.label) continue
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
      const { receipt } = await account().stamps.create({ body: { stamp: jws } })
      state.stamps.setReceipt(id, receipt)
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
    try {
      await work(report)
    } catch (error) {
      report.ok = false
      report.error = error instanceof Error ? error.message : String(error)
    }
    report.finished_at = timeAt(now())
    state.meta.set(REPORT, report)
    return report
  }

  let running: Promise<SyncReport> | null = null
  return {
    last: () => state.meta.get(REPORT) as SyncReport | null,
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
