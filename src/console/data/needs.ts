/**
 * What needs the user: the one list that the page, the count in the navigation and the
 * notifications on the desktop use.
 */
import { computed, effect, type ReadonlySignal } from '@preact/signals'
import { daemonStatus, readStatus } from './status.ts'
import { allItems, api, dataOf, type ApiFailure, type Schemas } from './api.ts'
import { onLiveEvent } from './live.ts'
import { readActiveGuests } from './own-words.ts'
import { newResource } from './resource.ts'

type Status = Schemas['Status']
type Notification = Schemas['Notification']

/** A guest code that ends soon, with the notification that reports it. */
export interface EndingGuest {
  readonly code: Schemas['GuestCode']
  readonly notification: Notification
}

/** What needs the user, by subject. The most urgent subject is first. */
export interface Needs {
  /** Texts of the daemon about the account, with the command to run. */
  readonly notices: readonly string[]
  readonly keys: Status['changed_keys']
  readonly forks: Status['forked_connections']
  readonly devices: Status['waiting_devices']
  readonly invitations: readonly Schemas['Invitation'][]
  readonly requests: readonly Schemas['OpenLinkRequest'][]
  readonly guests: readonly EndingGuest[]
  /** The error of the last sync, if the account server answers again. */
  readonly syncs: readonly NonNullable<Status['last_error']>[]
  /** The unread notifications about none of the above. */
  readonly notifications: readonly Notification[]
}

/** The lists that the status does not have. */
type Lists = Pick<Needs, 'invitations' | 'requests'> & {
  readonly contacts: readonly Schemas['FirstContact'][]
  readonly unread: readonly Notification[]
  readonly codes: readonly Schemas['GuestCode'][]
}

/** The events after which the lists may be others. */
const TYPES = [
  'invitation.*',
  'open_link_request.*',
  'notification.*',
  'guest_code.*',
  'first_contact.*',
  'trust.*',
  'session.*',
  'sync.done',
]

const ENDING = 'guest_code_ending'

async function readLists(): Promise<Lists> {
  const [{ received }, requests, { items: contacts }, unread] = await Promise.all([
    dataOf(api.GET('/api/v1/invitations/pending')),
    allItems((query) =>
      dataOf(
        api.GET('/api/v1/open-links/requests', {
          params: { query: { state: 'pending', ...query } },
        }),
      ),
    ),
    dataOf(api.GET('/api/v1/first-contacts')),
    allItems((query) =>
      dataOf(
        api.GET('/api/v1/notifications', {
          params: { query: { unread: true, ...query } },
        }),
      ),
    ),
  ])
  // Only a notification makes a guest code a need, so that reading it settles the need.
  const codes = unread.some(({ kind }) => kind === ENDING) ? await readActiveGuests() : []
  return { invitations: received, requests, contacts, unread, codes }
}

const lists = newResource(readLists)

/** Which id in a notification, and which list, make a notification the same subject. */
const SAME = [
  ['invitation_received', 'invitation_id'],
  ['open_link_request', 'open_link_request_id'],
  ['keys_changed', 'user_id'],
  [ENDING, 'guest_code_id'],
] as const

/** Returns the key of the subject that a notification shares with a need; null if with none. */
function sharedKey({ kind, data }: Notification): string | null {
  const member = SAME.find(([one]) => one === kind)?.[1]
  return (member === undefined ? undefined : data[member]) ?? null
}

function needsIn(status: Status, of: Lists): Needs {
  const guests = of.unread
    .filter(({ kind }) => kind === ENDING)
    .flatMap((notification) => {
      const code = of.codes.find(({ id }) => id === sharedKey(notification))
      return code === undefined ? [] : [{ code, notification }]
    })
  const { notices, changed_keys: keys, forked_connections: forks, waiting_devices } = status
  const shown = new Set([
    ...keys.map(({ user_id }) => user_id),
    ...of.invitations.map(({ id }) => id),
    ...of.requests.map(({ id }) => id),
    ...guests.map(({ code }) => code.id),
  ])
  const { last_error: error, backend_unreachable_since: away } = status
  return {
    notices,
    keys,
    forks,
    devices: waiting_devices,
    invitations: of.invitations,
    requests: of.requests,
    guests,
    syncs: error === null || away !== null ? [] : [error],
    notifications: of.unread.filter((one) => !shown.has(sharedKey(one) ?? '')),
  }
}

/** What needs the user; null until it was read. */
export const needs: ReadonlySignal<Needs | null> = computed(() => {
  const status = daemonStatus.value
  const found = lists.data.value
  return status === null || found === undefined ? null : needsIn(status, found)
})

/** Returns the comparison of four words for an invitation; undefined if no words were typed. */
export const contactFor = (invitation: string): Schemas['FirstContact'] | undefined =>
  lists.data.value?.contacts.find(
    ({ invitation_id: id, role }) => id === invitation && role === 'invitee',
  )

/** Returns the number of things that need the user. Notifications are news and do not count. */
export const countOf = ({ notifications: _news, ...decisions }: Needs): number =>
  Object.values(decisions).reduce((count, items: readonly unknown[]) => count + items.length, 0)

/** Why the last reading failed; null if it succeeded. */
export const needsFailure: ReadonlySignal<ApiFailure | null> = lists.failure

/** Reads again what needs the user, after the user settled a need. */
export const reloadNeeds = (): Promise<void> => lists.reload()

/**
 * Confirms the keys of an account that have this safety number, and settles the notifications about
 * them. If the keys changed meanwhile, nothing is confirmed.
 */
export async function confirmSafetyNumber(id: string, safety_number: string): Promise<void> {
  const body = { confirmed: true, safety_number } as const
  await dataOf(api.PATCH('/api/v1/trust-cards/{id}', { params: { path: { id } }, body }))
  const about = lists.data.value?.unread.filter((one) => sharedKey(one) === id) ?? []
  const ids = about.map((one) => one.id)
  if (ids.length > 0) await dataOf(api.POST('/api/v1/notifications/read', { body: { ids } }))
  await Promise.all([readStatus(), reloadNeeds()])
}

/** Keeps the list current. */
export function followNeeds(): void {
  void lists.reload()
  onLiveEvent(TYPES, () => void lists.reload())
  // A reading that failed is repeated when the state is read again.
  effect(() => {
    if (daemonStatus.value !== null && lists.failure.peek() !== null) void lists.reload()
  })
}
