/** The daemon: its version, its address, its clock, and where it stores keys. */
import type { Schemas } from '../../data/api.ts'
import { awaySince } from '../../data/live.ts'
import { messages } from '../../text/text.tsx'
import { StateBadge } from './state-badge.tsx'

const CLOCK_KINDS = { steady: 'ok', ahead: 'bad', behind: 'bad', unmeasured: 'warn' } as const

/** The card of the daemon. */
export const DaemonCard = ({ status }: { readonly status: Schemas['Status'] }) => {
  const { health } = messages()
  return (
    <section class="card" aria-labelledby="health-daemon">
      <h2 id="health-daemon">{health.daemon}</h2>
      <dl>
        <dt>{health.version}</dt>
        <dd>{status.version}</dd>
        <dt>{health.api}</dt>
        <dd>
          <bdi>{status.api}</bdi>
        </dd>
        <dt>{health.keychain}</dt>
        <dd>{health[`keychain_${status.keychain}`]}</dd>
        {status.clock === null ? null : (
          <>
            <dt>{health.clock}</dt>
            <dd>
              <StateBadge kind={CLOCK_KINDS[status.clock]}>
                {health[`clock_${status.clock}`]}
              </StateBadge>
            </dd>
          </>
        )}
        <dt>{health.events}</dt>
        <dd>{awaySince.value === null ? health.eventsLive : health.eventsAway}</dd>
      </dl>
    </section>
  )
}
