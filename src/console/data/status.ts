/** The state of the daemon and its account, which several pages show. */
import { computed, type ReadonlySignal } from '@preact/signals'
import { api, dataOf, type Schemas } from './api.ts'
import { onLiveEvent } from './live.ts'
import { newResource } from './resource.ts'

/** How often the state is read without an event, in milliseconds. */
const EVERY_MS = 60_000

/** The events after which the state may be another one. */
const TYPES = [
  'sync.*',
  'session.*',
  'trust.*',
  'invitation.*',
  'open_link_request.*',
  'notification.*',
  'connection.*',
  'device.*',
]

const status = newResource(() => dataOf(api.GET('/api/v1/status')))

/**
 * The state of the daemon; null until it was read. If a reading fails, the earlier state stays: the
 * stream of events shows that the daemon is away.
 */
export const daemonStatus: ReadonlySignal<Schemas['Status'] | null> = computed(
  () => status.data.value ?? null,
)

/** Reads the state of the daemon again. */
export const readStatus = (): Promise<void> => status.reload()

/** Keeps the state of the daemon current. */
export function followStatus(): void {
  void status.reload()
  setInterval(() => void status.reload(), EVERY_MS)
  onLiveEvent(TYPES, () => void status.reload())
}
