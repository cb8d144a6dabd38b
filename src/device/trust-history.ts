/** What happened to somebody's keys, as their verified key log tells it; the times are those that its entries claim. */
import { timeAt } from '../api/fields.ts'
import type { TrustEvent } from '../api/rest/trust-cards.ts'
import { parseJws } from '../crypto/jws.ts'
import type { KeyLog } from '../crypto/key-log-v1.ts'
import type { State } from '../state/state.ts'
import { rememberedLog } from './remembered.ts'

/** The last moment that the wire can say, Unix milliseconds. */
const LAST_MS = Date.UTC(9999, 11, 31)

const EVENTS = { add: 'key_added', revoke: 'key_revoked', reset: 'keys_changed' } as const

export interface KeyEvent extends Pick<TrustEvent, 'at' | 'event'> {
  readonly seq: number
  /** The id of the signing key of the device that came or went. */
  readonly kid: string
}

/** The events of a log, newest first. */
export const keyEvents = ({ entries, devices }: Pick<KeyLog, 'entries' | 'devices'>): KeyEvent[] =>
  entries
    .map((entry, seq) => {
      const { payload } = parseJws(entry, 'keylog+jws')
      return {
        seq,
        at: timeAt(Math.min(Number(payload.get('at')) * 1000, LAST_MS)),
        event: EVENTS[payload.get('op') as keyof typeof EVENTS],
        kid: devices.get(payload.get('device') as string)?.kid ?? '',
      }
    })
    .reverse()

/** How often all devices of somebody were replaced since a time. */
export function changesSince(state: State, account: string, since: string): number {
  const log = rememberedLog(state, account)
  const events = log === null ? [] : keyEvents(log)
  return events.filter(({ event, at }) => event === 'keys_changed' && at >= since).length
}
