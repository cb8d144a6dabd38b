/** One webhook: its state, its deliveries, and what can be done with it. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { useAction } from '../../data/action.ts'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { thisMinute } from '../../data/clock.ts'
import { useResource } from '../../data/resource.ts'
import { filled, messages, timeShort } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { NoticeBox } from '../../ui/notice.tsx'
import { Loaded } from '../../ui/page.tsx'
import { Name } from '../../ui/person-name.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'

type Webhook = Schemas['Webhook']
type Delivery = Schemas['WebhookDelivery']

const STATES = {
  active: ['ok', 'stateActive'],
  paused: ['warn', 'statePaused'],
  given_up: ['bad', 'stateGivenUp'],
} as const

/** Returns the name of a webhook, or the host of its address. */
export const webhookName = ({ name, url }: Pick<Webhook, 'name' | 'url'>): string =>
  name ?? new URL(url).host

/** Returns why a delivery failed. */
function reasonText({ error, status }: Pick<Delivery, 'error' | 'status'>): string {
  const { tokens } = messages()
  if (error === null) return tokens.noReason
  return error === 'status' ? filled(tokens.status, { status: status ?? '' }) : tokens[error]
}

const DELIVERY_KINDS = { delivered: 'ok', waiting: 'warn', failed: 'bad' } as const

const DeliveryRow = ({ of }: { readonly of: Delivery }) => {
  const { tokens } = messages()
  return (
    <tr>
      <td>
        <code translate={false}>{of.type}</code>
      </td>
      <td>
        <When at={of.last_attempt_at} />
      </td>
      <td>
        <span class="badge" data-kind={DELIVERY_KINDS[of.state]}>
          {tokens[of.state]}
        </span>
        <div class="hint">
          {filled(tokens.attempts, { count: of.attempts })}
          {of.error === null ? null : ` – ${reasonText(of)}`}
        </div>
      </td>
    </tr>
  )
}

/** The last deliveries of a webhook. */
const DeliveryList = ({ id, name }: { readonly id: string; readonly name: string }) => {
  const { tokens } = messages()
  const list = useResource(
    id,
    () => dataOf(api.GET('/api/v1/webhooks/{id}/deliveries', { params: { path: { id } } })),
    ['webhook.*'],
  )
  return (
    <>
      <Loaded from={list}>
        {({ items }) =>
          items.length === 0 ? (
            <p>{tokens.deliveriesNone}</p>
          ) : (
            <TableBox
              label={`${tokens.deliveries}: ${displayedName(name)}`}
              heading={[tokens.event, tokens.time, tokens.outcome]}
            >
              {items.map((delivery) => (
                <DeliveryRow key={delivery.id} of={delivery} />
              ))}
            </TableBox>
          )
        }
      </Loaded>
      <button type="button" class="small" onClick={() => void list.reload()}>
        {tokens.refresh}
      </button>
    </>
  )
}

const TestResult = ({ of }: { readonly of: Schemas['WebhookTest'] }) => {
  const { tokens } = messages()
  return of.delivered ? (
    <NoticeBox kind="ok">{filled(tokens.testDelivered, { status: of.status ?? '' })}</NoticeBox>
  ) : (
    <NoticeBox kind="bad">{filled(tokens.testFailed, { reason: reasonText(of) })}</NoticeBox>
  )
}

/** Shows a webhook. `onChange` is called after each change. */
export const WebhookCard = (of: {
  readonly webhook: Webhook
  readonly onChange: () => Promise<void>
}) => {
  const { tokens } = messages()
  const { webhook, onChange } = of
  const { id, state } = webhook
  const params = { path: { id } }
  const name = webhookName(webhook)
  const isOpen = useSignal(false)
  const tested = useSignal<Schemas['WebhookTest'] | null>(null)
  const test = useAction(async () => {
    tested.value = null
    tested.value = await dataOf(api.POST('/api/v1/webhooks/{id}/test', { params }))
  })
  const change = useAction(async () => {
    const body = { enabled: state !== 'active' }
    await dataOf(api.PATCH('/api/v1/webhooks/{id}', { params, body }))
    await onChange()
  })
  const [kind, label] = STATES[state]
  const suffix = <span class="unseen"> {filled(tokens.hookNamed, { name })}</span>
  return (
    <article class="webhook" aria-label={name}>
      <header class="head">
        <h3>
          <Name of={name} />{' '}
          <span class="badge" data-kind={kind}>
            {tokens[label]}
          </span>
        </h3>
      </header>
      <p>
        <code class="long" translate={false}>
          <ServerText text={webhook.url} />
        </code>
      </p>
      <p class="hint">
        {tokens.events}: <span translate={false}>{webhook.types.join(', ')}</span>
      </p>
      {state === 'given_up' ? <NoticeBox kind="bad">{tokens.givenUpText}</NoticeBox> : null}
      {state === 'active' && webhook.failing_since !== null ? (
        <NoticeBox kind="warn">
          {filled(tokens.failingSince, {
            time: timeShort(webhook.failing_since, thisMinute.value),
          })}
          {webhook.next_attempt_at === null
            ? null
            : `. ${filled(tokens.nextAttempt, { time: timeShort(webhook.next_attempt_at, thisMinute.value) })}`}
        </NoticeBox>
      ) : null}
      <div class="answers">
        <ActionButton action={test} kind="small">
          {tokens.test}
          {suffix}
        </ActionButton>
        <ActionButton action={change} kind="small">
          {state === 'active' ? tokens.pause : state === 'paused' ? tokens.continue : tokens.enable}
          {suffix}
        </ActionButton>
        <ConfirmedButton
          kind="small"
          label={
            <>
              {tokens.remove}
              {suffix}
            </>
          }
          title={filled(tokens.removeTitle, { name })}
          confirm={tokens.remove}
          work={async () => {
            await dataOf(api.DELETE('/api/v1/webhooks/{id}', { params }))
            await onChange()
          }}
        >
          {tokens.removeText}
        </ConfirmedButton>
      </div>
      {tested.value === null ? null : <TestResult of={tested.value} />}
      <FailureNotice of={test.failure} />
      <FailureNotice of={change.failure} />
      <details
        onToggle={(event) => {
          isOpen.value = event.currentTarget.open
        }}
      >
        <summary>{tokens.deliveries}</summary>
        {isOpen.value ? <DeliveryList id={id} name={name} /> : null}
      </details>
    </article>
  )
}
