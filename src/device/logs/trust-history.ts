/** The events in an account's verified key log. Their times are those that the entries claim. */
import { LAST_MS, timeAt } from '../../api/fields.ts'
import type { TrustEvent } from '../../api/rest/trust-cards.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { State } from '../../state/state.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'

const EVENTS = {
  add: 'key_added',
  revoke: 'key_revoked',
  reset: 'keys_changed',
  recovery: 'recovery_key_changed',
} as const

export interface KeyEvent extends Pick<TrustEvent, 'at' | 'event'> {
  readonly seq: number
  /** The signing key's id of the device that was added or revoked. */
  readonly kid: string
}

/** Returns the time that a key log entry claims, Unix milliseconds. */
export const entryTime = (entry: string): number =>
  Math.min(Number(parseJws(entry, 'keylog+jws').payload.get('at')) * 1000, LAST_MS)

/** Returns the events of a log, newest first. The renewal of a sealing key is not an event. */
export function keyEvents({
  entries,
  devices,
  generations,
}: Pick<KeyLog, 'entries' | 'devices' | 'generations'>): KeyEvent[] {
  const linked = new Set(generations.map(({ successor }) => successor))
  const recovered = generations.filter((_, at) => linked.has(at + 1)).map(({ root }) => root)
  return entries
    .flatMap((entry, seq) => {
      const { payload } = parseJws(entry, 'keylog+jws')
      const named = EVENTS[payload.get('op') as keyof typeof EVENTS] as
        KeyEvent['event'] | undefined
      if (named === undefined) return []
      const event = recovered.includes(seq) ? 'keys_recovered' : named
      const kid = devices.get(payload.get('device') as string)?.kid ?? ''
      return [{ seq, at: timeAt(entryTime(entry)), event, kid }]
    })
    .toReversed()
}

const REPLACED: readonly KeyEvent['event'][] = ['keys_changed', 'keys_recovered']

/**
 * Returns how many times an account replaced all its devices since a time.
 *
 * Replacements with and without the recovery key count.
 */
export function changesSince(state: State, account: string, since: string): number {
  const log = rememberedLog(state, account)
  const events = log === null ? [] : keyEvents(log)
  return events.filter(({ event, at }) => REPLACED.includes(event) && at >= since).length
}
