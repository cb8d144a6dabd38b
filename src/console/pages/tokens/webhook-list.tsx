/** The webhooks of this daemon. */
import { allItems, api, dataOf } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { messages } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { Loaded } from '../../ui/page.tsx'
import { hasScope } from '../../ui/rights-notice.tsx'
import { NewWebhookForm } from './new-webhook.tsx'
import { WebhookCard } from './webhook-card.tsx'

/** Lists the webhooks, and creates new ones. */
export const WebhookList = () => {
  const { tokens } = messages()
  const list = useResource(
    'webhooks',
    () => allItems((query) => dataOf(api.GET('/api/v1/webhooks', { params: { query } }))),
    ['webhook.*', 'token.revoked'],
  )
  return (
    <>
      <p class="lead">{tokens.webhooksLead}</p>
      <section class="card" aria-labelledby="webhook-list">
        <h2 id="webhook-list">{tokens.webhooks}</h2>
        {!hasScope('full') ? (
          <p>
            {tokens.ownWebhooks} <CommandText of="countersignd open --full" />
          </p>
        ) : null}
        <Loaded from={list}>
          {(all) =>
            all.length === 0 ? (
              <p>{tokens.webhooksNone}</p>
            ) : (
              all.map((webhook) => (
                <WebhookCard key={webhook.id} webhook={webhook} onChange={list.reload} />
              ))
            )
          }
        </Loaded>
      </section>
      <NewWebhookForm onMade={list.reload} />
    </>
  )
}
