import { readFileSync } from 'node:fs'
import { every } from '../../api/cursor.ts'
import type { WebhookDelivery, WebhookTest } from '../../api/live/webhooks.ts'
import { EXIT } from '../../errors.ts'
import { byId } from '../by-id.ts'
import { createCommand, deleteCommand, listCommand, updateCommand } from '../collection.ts'
import type { Command } from '../command.ts'
import { unreadable } from '../errors/file-errors.ts'
import { eitherField, flagField, listField, textField } from '../option-fields.ts'
import { shown, table } from '../table.ts'
import { when, whenOr } from '../times.ts'

/**
 * Reads a URL from a file, or from standard input for `-`.
 * @throws UsageError if it cannot be read
 */
function urlIn(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').trim()
  } catch (cause) {
    throw unreadable(file, cause, 'url-file')
  }
}

const FIELDS = {
  url: eitherField(textField('url'), textField('url-file', urlIn)),
  types: listField('type'),
  name: textField('name'),
  private_network: flagField('private-network', true),
}

const CHANGES = {
  url: FIELDS.url,
  types: FIELDS.types,
  name: eitherField(FIELDS.name, flagField('no-name', null)),
  private_network: eitherField(FIELDS.private_network, flagField('no-private-network', false)),
  enabled: eitherField(flagField('enable', true), flagField('pause', false)),
}

const HELP = `
  --url URL           where events are sent: https, or http to a program on this machine
  --url-file FILE     a file with the URL, or - for standard input. Use it if the URL contains a secret, because other
                      users of the machine can see arguments
  --type TYPE         a type of events, such as token.created, or all types of a kind, such as "token.*"; can be given
                      several times
  --name NAME         what the webhook is for
  --private-network   the host name may have addresses of private networks, such as 192.168.0.0/16`

export const webhookList = listCommand({
  help: 'Lists the webhooks of this daemon, newest first. Their secrets are never shown again.',
  work: (api, query) => api.webhooks.list(query),
  heading: ['ID', 'NAME', 'STATE', 'TYPES', 'NEXT ATTEMPT', 'URL'],
  row: ({ id, name, state, types, next_attempt_at, url }) => [
    id,
    name ?? '',
    state,
    types.join(','),
    whenOr('', next_attempt_at),
    url,
  ],
})

export const webhookCreate = createCommand({
  usage:
    '--url URL | --url-file FILE --type TYPE [--type TYPE]… [--name NAME] [--private-network] [--json]',
  help: `
Creates a webhook and prints its secret, with which the receiver checks signatures (Standard Webhooks). The secret is
shown only once. The daemon sends events while it runs, and later those of the time in between.
${HELP}`,
  examples: {
    'webhook create --url https://example.org/hook --type "connection.*"':
      'send all events of connections',
  },
  fields: FIELDS,
  needed: ['url', 'types'],
  work: (api, body) => api.webhooks.create({ body }),
  shows: ({ secret, id, name, url, types }) => ({
    bare: secret,
    rows: [['Secret', secret]],
    details: [
      ['Name', name],
      ['URL', url],
      ['Types', types.join(', ')],
      ['Id', id],
    ],
  }),
  next: ({ id }) =>
    `The secret is not shown again. To send a test event: countersignd webhook test ${id}`,
})

export const webhookUpdate = updateCommand({
  kind: 'webhook',
  usage:
    'WEBHOOK [--url URL | --url-file FILE] [--type TYPE]… [--name NAME] [--private-network] [--no-name] [--no-private-network] [--enable | --pause] [--json]',
  help: `
Changes a webhook. Settings without an option stay unchanged; --type replaces all types.
${HELP}
  --no-name, --no-private-network   remove the setting
  --pause             send nothing until the webhook is enabled
  --enable            continue, also after the webhook was given up, with the first event that was not delivered`,
  fields: CHANGES,
  remedy: '"countersignd webhook update --help" lists the options.',
  work: (api, id, body) => api.webhooks.update({ id, body }),
  shows: ({ id, state, name }) => ({
    bare: `${id}  ${state}${name === null ? '' : `  ${shown(name)}`}`,
    rows: [
      ['Name', name],
      ['State', state],
      ['Id', id],
    ],
  }),
})

export const webhookDelete = deleteCommand({
  kind: 'webhook',
  help: 'Deletes a webhook. Nothing more is sent to it.',
  work: (api, id) => api.webhooks.delete({ id }),
})

const outcome = ({ status, error }: Pick<WebhookTest, 'status' | 'error'>): string =>
  status === null ? (error ?? '') : String(status)

export const webhookTest: Command = {
  usage: 'WEBHOOK [--json]',
  help: `
Sends an event of the type webhook.test to a webhook and shows the outcome. The command fails if the receiver does not
answer with a status of 200 to 299.`,
  args: [1, 1],
  takes: ['webhook'],
  async run({ args: [id = ''], withApi, print, say }) {
    const result = await byId('webhook', () => withApi((api) => api.webhooks.test({ id })))
    print(result, [])
    say(`${result.delivered ? 'Delivered' : 'Not delivered'}: ${outcome(result)}.`)
    return result.delivered ? EXIT.ok : EXIT.failed
  },
}

const deliveryRow = (one: WebhookDelivery): string[] => [
  one.id,
  one.type,
  one.state,
  String(one.attempts),
  outcome(one),
  when(one.last_attempt_at),
  whenOr('', one.next_attempt_at),
]

export const webhookDeliveries: Command = {
  usage: 'WEBHOOK [--json]',
  help: 'Lists the last deliveries of a webhook, newest first, at most 100.',
  args: [1, 1],
  takes: ['webhook'],
  async run({ args: [id = ''], io, withApi, print }) {
    const items = await byId('webhook', () =>
      withApi((api) => every((query) => api.webhooks.deliveries({ id, ...query }))),
    )
    const heading = ['EVENT', 'TYPE', 'STATE', 'ATTEMPTS', 'STATUS', 'LAST ATTEMPT', 'NEXT ATTEMPT']
    print({ items }, await table(heading, items.map(deliveryRow), io.stdout))
  },
}
