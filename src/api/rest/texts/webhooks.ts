/** The texts of `../../live/webhooks.ts`. */
import type { Texts } from './text.ts'

export const webhookTexts: Texts<'webhooks'> = {
  webhooks: {
    list: {
      summary: 'List webhooks',
      description:
        'Lists the webhooks of this daemon, newest first. A token of scope `write` gets those that it created. Tokens of scope `full` get all.',
    },
    create: {
      summary: 'Create a webhook',
      description:
        'From now on, the daemon sends the events of these types to the URL, by Standard Webhooks (https://www.standardwebhooks.com). Each is a POST with the JSON of the schema `Event`, and with the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. The answer contains the secret with which the receiver checks the signatures; it is shown only once. ' +
        'An event is delivered at least once, and in order. A delivery without an answer of status 2xx is repeated for three days; then the webhook is given up. A webhook ends when the token that created it ends. Types that begin with `org.` need a token of scope `full`.',
    },
    update: {
      summary: 'Change a webhook, pause it or let it continue',
      description:
        'Changes the given fields. With a new URL or `enabled: true`, a delivery that waits is tried at once. If events are no longer stored, the receiver first gets an event of the type `gap`.',
    },
    delete: {
      summary: 'Delete a webhook',
      description: 'Deletes the webhook, its secret and the list of its deliveries.',
    },
    test: {
      summary: 'Send a test event',
      description:
        'Sends an event of the type `webhook.test` at once and returns the outcome. It takes at most 15 seconds, is not repeated, and does not change the order of other events.',
    },
    deliveries: {
      summary: 'List the last deliveries of a webhook',
      description: 'Lists at most the last 100 events that were sent or are waiting, newest first.',
    },
  },
}
