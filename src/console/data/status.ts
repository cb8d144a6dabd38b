/** The state of the daemon and its account, which several pages show. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { api, dataOf, type Schemas } from './api.ts'
import { firstStreamOpen, isOfType, onLiveEvent } from './live.ts'
import { sessionState } from '../session/session.ts'

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

const statusNow = signal<Schemas['Status'] | null>(null)

/** The state of the daemon; null until it was read. */
export const daemonStatus: ReadonlySignal<Schemas['Status'] | null> = statusNow

/** Reads the state of the daemon again. */
export async function readStatus(): Promise<void> {
  await firstStreamOpen
  if (sessionState.value !== 'open') return
  try {
    statusNow.value = await dataOf(api.GET('/api/v1/status'))
  } catch {
    // The stream of events shows that the daemon is away.
  }
}

/** Keeps the state of the daemon current. */
export function followStatus(): void {
  void readStatus()
  setInterval(() => void readStatus(), EVERY_MS)
  onLiveEvent((event) => {
    if (isOfType(event, TYPES)) void readStatus()
  })
}
