import * as v from 'valibot'
import { Page, Time, id, listOf, name, named } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The errors of a group that only this device answers, and only while it is signed in. */
const HERE = ['no_device', 'not_signed_in'] as const

const Url = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(2048),
  v.regex(/^[!-~]*$/, 'Write other characters as escapes (RFC 3986 section 2.1).'),
  v.description(
    'Where events are sent: https, or http with `localhost`, an address of 127.0.0.0/8 or [::1].',
  ),
)

const Types = v.pipe(
  v.array(v.pipe(v.string(), v.maxLength(64))),
  v.minLength(1),
  v.maxLength(64),
  v.description(
    'The types of events that are sent. `connection.*` means all types that begin with `connection.`.',
  ),
)

const Name = v.pipe(v.nullable(name(100)), v.description('What the webhook is for.'))

const PrivateNetwork = v.pipe(
  v.boolean(),
  v.description(
    'Whether the host name may have addresses of private networks, such as 192.168.0.0/16.',
  ),
)

const fields = {
  id: id('whk_'),
  name: v.nullable(v.string()),
  url: v.string(),
  types: v.array(v.string()),
  private_network: v.boolean(),
  state: v.pipe(
    v.picklist(['active', 'paused', 'given_up']),
    v.description(
      'given_up: no delivery succeeded for three days, or the receiver answered 410. Update the webhook with `enabled: true` to continue.',
    ),
  ),
  token_id: v.pipe(
    v.nullable(id('tok_')),
    v.description(
      'The token that created it, and with which it ends; null: it does not end with a token.',
    ),
  ),
  created_at: Time,
  failing_since: v.pipe(
    v.nullable(Time),
    v.description('When the present event was first tried without success; null if it was not.'),
  ),
  next_attempt_at: v.pipe(
    v.nullable(Time),
    v.description('When a failed delivery is tried again; null if nothing waits.'),
  ),
}

export const Webhook = named('Webhook', v.object(fields))
export type Webhook = v.InferOutput<typeof Webhook>

/** The answer that contains the secret. No other answer contains it. */
export const CreatedWebhook = named(
  'CreatedWebhook',
  v.object({
    ...fields,
    secret: v.pipe(
      v.string(),
      v.description(
        'The key of the signatures, as libraries for Standard Webhooks accept it. It is never shown again.',
      ),
    ),
  }),
)
export type CreatedWebhook = v.InferOutput<typeof CreatedWebhook>

/** Why a delivery failed. */
const Failure = v.pipe(
  v.nullable(
    v.picklist([
      'address_not_allowed',
      'closed',
      'name_not_resolved',
      'not_reachable',
      'status',
      'timeout',
      'tls',
    ]),
  ),
  v.description(
    'Why the last attempt failed; null if it did not. `status`: the receiver answered with another status than 2xx. `address_not_allowed`: the host name has an address to which nothing is sent.',
  ),
)

const Status = v.pipe(
  v.nullable(v.number()),
  v.description('The HTTP status of the receiver; null if it sent none.'),
)

export const WebhookTest = named(
  'WebhookTest',
  v.object({
    delivered: v.boolean(),
    event_id: id('evt_'),
    status: Status,
    error: Failure,
  }),
)
export type WebhookTest = v.InferOutput<typeof WebhookTest>

export const WebhookDelivery = named(
  'WebhookDelivery',
  v.object({
    id: v.pipe(id('evt_'), v.description('The id of the event, which is also its webhook-id.')),
    type: v.string(),
    state: v.picklist(['delivered', 'waiting', 'failed']),
    attempts: v.number(),
    status: Status,
    error: Failure,
    first_attempt_at: Time,
    last_attempt_at: Time,
    next_attempt_at: v.nullable(Time),
  }),
)
export type WebhookDelivery = v.InferOutput<typeof WebhookDelivery>

export const NewWebhook = named(
  'NewWebhook',
  v.strictObject({
    url: Url,
    types: Types,
    name: v.optional(Name),
    private_network: v.optional(PrivateNetwork),
    ends_with_token: v.optional(
      v.pipe(
        v.boolean(),
        v.description(
          'false: the webhook does not end with the token that creates it. Needs the scope full.',
        ),
      ),
    ),
  }),
)
export type NewWebhook = v.InferOutput<typeof NewWebhook>

export const WebhookChanges = named(
  'WebhookChanges',
  v.strictObject({
    url: v.optional(Url),
    types: v.optional(Types),
    name: v.optional(Name),
    private_network: v.optional(PrivateNetwork),
    enabled: v.optional(
      v.pipe(
        v.boolean(),
        v.description(
          'false pauses the deliveries. true continues them, with the first event that was not delivered.',
        ),
      ),
    ),
  }),
)
export type WebhookChanges = v.InferOutput<typeof WebhookChanges>

export const webhooks = {
  list: {
    method: 'GET',
    path: '/api/v1/webhooks',
    by: 'daemon',
    errors: HERE,
    query: Page,
    reply: listOf(Webhook),
  },
  create: {
    method: 'POST',
    path: '/api/v1/webhooks',
    by: 'daemon',
    errors: [...HERE, 'conflict'],
    body: NewWebhook,
    reply: CreatedWebhook,
    status: 201,
    repeats: true,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/webhooks/{id}',
    by: 'daemon',
    errors: HERE,
    body: WebhookChanges,
    reply: Webhook,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/webhooks/{id}',
    by: 'daemon',
    errors: HERE,
    status: 204,
  },
  test: {
    method: 'POST',
    path: '/api/v1/webhooks/{id}/test',
    by: 'daemon',
    errors: [...HERE, 'rate_limited'],
    reply: WebhookTest,
    repeats: true,
  },
  deliveries: {
    method: 'GET',
    path: '/api/v1/webhooks/{id}/deliveries',
    by: 'daemon',
    errors: HERE,
    query: Page,
    reply: listOf(WebhookDelivery),
  },
} as const satisfies Routes
