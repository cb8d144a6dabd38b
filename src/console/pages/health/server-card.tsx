/** The account server: whether it answers, and what does not work without it. */
import type { Schemas } from '../../data/api.ts'
import { MessageText, messages } from '../../text/text.tsx'
import { When } from '../../ui/when.tsx'
import { StateBadge } from './state-badge.tsx'

/** The card of the account server. */
export const ServerCard = ({ status }: { readonly status: Schemas['Status'] }) => {
  const { health } = messages()
  const { backend_reachable: answers, backend_unreachable_since: since } = status
  return (
    <section class="card" aria-labelledby="health-server">
      <h2 id="health-server">{health.server}</h2>
      <dl>
        <dt>{health.state}</dt>
        <dd>
          <StateBadge kind={answers === true ? 'ok' : answers === false ? 'bad' : 'warn'}>
            {answers === true ? (
              health.answers
            ) : answers === false ? (
              <MessageText of={health.silent} values={{ time: <When at={since} /> }} />
            ) : (
              health.unknown
            )}
          </StateBadge>
        </dd>
        <dt>{health.address}</dt>
        <dd>
          <bdi>{status.backend}</bdi>
        </dd>
      </dl>
      {status.not_working.length === 0 ? null : (
        <>
          <h3>{health.notWorking}</h3>
          <ul lang="en">
            {status.not_working.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
