/**
 * Reads the lists of the account that this device only shows, and reports what changed in them as
 * events for programs.
 *
 * The account server supplies these lists, and the device does not verify them. So their events
 * contain only ids, and names of organisations and of devices.
 */
import { every } from '../../api/cursor.ts'
import type { SyncList } from '../../api/device/changes.ts'
import type { Account } from '../../api/port.ts'
import type { Append } from '../../state/events.ts'
import type { State } from '../../state/state.ts'
import { storedDevice, waitingIn } from './waiting-devices.ts'

/** An item of a list. */
interface Listed {
  readonly id: string
  /** What is compared with the state at the last look. */
  readonly state: string
  /** Appends the events of a change; `before` is the former state, null for a new item. */
  readonly report: (append: Append, before: string | null) => void
}

/** The state of invitations and requests that are not answered. */
const OPEN = 'pending'
/** The greatest number of notifications that are compared, newest first. */
const MOST_NOTIFICATIONS = 200

async function invitations(account: Account): Promise<Listed[]> {
  const { received, sent } = await account.invitations.list({})
  return [...received, ...sent].map(({ id, state, connection_id, direction }) => ({
    // An invitation of an own mailbox is in both lists.
    id: `${direction} ${id}`,
    state,
    report(append, before) {
      const data = { invitation_id: id, connection_id, direction }
      if (before === null) append(`invitation.${direction}`, data)
      if (state !== OPEN) append(`invitation.${state}`, data)
    },
  }))
}

async function openLinkRequests(account: Account): Promise<Listed[]> {
  const items = await every((query) => account.openLinkRequests.list(query))
  return items.map(({ id, state, open_link_id }) => ({
    id,
    state,
    report(append, before) {
      const data = { request_id: id, open_link_id }
      if (before === null) append('open_link_request.received', data)
      if (state !== OPEN) append(`open_link_request.${state}`, data)
    },
  }))
}

async function notifications(account: Account): Promise<Listed[]> {
  const { items } = await account.notifications.list({ limit: MOST_NOTIFICATIONS })
  return items.map(({ id, kind, read }) => ({
    id,
    state: read ? 'read' : 'new',
    report(append, before) {
      const data = { notification_id: id, kind }
      if (before === null) append('notification.created', data)
      if (read) append('notification.read', data)
    },
  }))
}

/** The states of exports that are events. */
const EXPORT_EVENT = {
  queued: null,
  building: null,
  ready: 'export.ready',
  failed: 'export.failed',
  expired: 'export.expired',
} as const

async function exports(account: Account): Promise<Listed[]> {
  const items = await every((query) => account.exports.list(query))
  return items.map(({ id, state }) => ({
    id,
    state: EXPORT_EVENT[state] ?? 'requested',
    report(append, before) {
      const data = { export_id: id }
      if (before === null) append('export.requested', data)
      const type = EXPORT_EVENT[state]
      if (type !== null) append(type, data)
    },
  }))
}

interface Membership {
  readonly name: string
  readonly role: 'owner' | 'admin' | 'member'
}

async function organisations(account: Account): Promise<Listed[]> {
  const found = await account.context.read({})
  return found.organisations.map(({ id, name, role }) => ({
    id,
    state: JSON.stringify({ name, role } satisfies Membership),
    report(append, before) {
      const data = { organisation_id: id, name }
      if (before === null) return void append('org.joined', data)
      const was = JSON.parse(before) as Membership
      if (was.name !== name) append('org.renamed', data)
      if (was.role !== role) append('org.role_changed', { ...data, role })
    },
  }))
}

const leftOrganisation = (append: Append, organisation_id: string, before: string): void =>
  void append('org.left', { organisation_id, name: (JSON.parse(before) as Membership).name })

async function devices(account: Account): Promise<Listed[]> {
  const items = await every((query) => account.listedDevices.list(query))
  return items.map((device) => ({
    id: device.id,
    state: storedDevice(device),
    report(append, before) {
      if (before === null && device.state === 'pending')
        append('device.waiting', { device_id: device.id, name: device.name })
    },
  }))
}

/** The key log reports the end of a device that was approved. */
function goneDevice(append: Append, device_id: string, before: string): void {
  const waiting = waitingIn(before)
  if (waiting !== null) append('device.declined', { device_id, name: waiting.name })
}

interface ListReader {
  readonly read: (account: Account) => Promise<Listed[]>
  /**
   * Appends the events of an item that is no longer listed. Absent if items are deleted because
   * they are old.
   */
  readonly reportGone?: (append: Append, id: string, before: string) => void
}

const READERS: { readonly [List in SyncList]: ListReader } = {
  invitations: { read: invitations },
  open_link_requests: { read: openLinkRequests },
  notifications: { read: notifications },
  exports: { read: exports },
  organisations: { read: organisations, reportGone: leftOrganisation },
  devices: { read: devices, reportGone: goneDevice },
}

/**
 * Reads a list and reports what changed since the last look. The first look reports nothing.
 * @throws AppError from the account server; then nothing was reported
 */
export async function readList(
  { state, requireSession }: { readonly state: State; readonly requireSession: () => void },
  account: Account,
  list: SyncList,
): Promise<void> {
  const { read, reportGone } = READERS[list]
  const items = await read(account)
  requireSession()
  const { events, listed } = state
  state.transaction(() => {
    const before = listed.of(list)
    const now = new Map(items.map((item) => [item.id, item.state]))
    if (before !== null) {
      // Lists are newest first, and events oldest first.
      for (const item of items.toReversed()) {
        const was = before.get(item.id) ?? null
        if (was !== item.state) item.report(events.append, was)
      }
      for (const [id, was] of before) if (!now.has(id)) reportGone?.(events.append, id, was)
    }
    listed.replace(list, now)
  })
}
