/** Creates the webhooks of a daemon from its parts. */
import type { Tokens } from '../auth/tokens.ts'
import type { Vault } from '../device/identity/vault.ts'
import type { Log } from '../log.ts'
import type { State } from '../state/state.ts'
import { METRICS } from '../metrics/catalogue.ts'
import { type WebhookRow, webhookRows } from '../state/webhooks.ts'
import { resolveHost } from './resolve.ts'
import { systemTimers } from '../runtime/timers.ts'
import { type Webhooks, newWebhooks } from './webhooks.ts'

/** Returns the state of a webhook for the metrics. */
const shownState = ({ state, attempts }: WebhookRow) =>
  state === 'active' && attempts > 0 ? 'failing' : state

/**
 * Returns the webhooks of a daemon.
 * @param of `vault` returns the vault of this device, null if no account is signed in; `onGivenUp`:
 *   see `DeliveryContext`
 */
export function webhooksOf(of: {
  readonly state: State
  readonly vault: () => Vault | null
  readonly tokens: Tokens
  readonly ownPorts: () => readonly number[]
  readonly now: () => number
  readonly log: Log
  readonly onGivenUp: () => void
  readonly stopping: AbortSignal
}): Webhooks {
  const { state, ownPorts, now, ...rest } = of
  const rows = webhookRows(state.db)
  const forget = METRICS.webhooks.from(() =>
    rows.all().map((row) => [{ state: shownState(row) }, 1]),
  )
  of.stopping.addEventListener('abort', forget, { once: true })
  return newWebhooks({
    ...rest,
    rows,
    events: state.events,
    transaction: state.transaction,
    network: { resolve: resolveHost, ownPorts },
    timers: systemTimers(now),
  })
}
