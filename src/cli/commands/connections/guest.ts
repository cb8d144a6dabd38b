import { inQuotes } from '../../../api/name-text.ts'
import type { GuestCode } from '../../../api/rest/guest-codes.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import type { Command } from '../../command.ts'
import { idField, secondsField, textField } from '../../option-fields.ts'
import { shown, typedName } from '../../table.ts'

export const guestList = listCommand({
  usage: '[--state active|revoked|expired] [--json]',
  help: `
Lists guest codes, newest first. The link of a guest code is shown only when you create the code, and in its QR
image.

  --state STATE   list only guest codes in this state: active, revoked or expired`,
  filters: { state: textField<GuestCode['state']>('state') },
  work: (api, query) => api.guestCodes.list(query),
  heading: ['ID', 'LABEL', 'FOR', 'STATE', 'EXPIRES', 'LAST OPENED'],
  row: ({ id, label, external_member: external, state, expires_at, last_opened_at }) => [
    id,
    label,
    external?.display_name ?? '',
    state,
    expires_at,
    last_opened_at ?? 'never',
  ],
})

export const guestCreate = createCommand({
  usage: '--label LABEL [--expires-in 7d] [--for EXTERNAL] [--json]',
  help: `
Creates a guest code and prints its link. The link is shown only once. Anyone who has the link can see the words of
the guest, so hand it over in person or through a channel that you trust.

  --label LABEL      a name for the guest
  --expires-in 7d    how long the guest code is valid (default: 7d)
  --for EXTERNAL     the external member who gets the code ("countersignd external list"). The page that the
                     link opens shows the name of the external member

On a call, the caller says the words first. The person who was called checks them before saying their own words.`,
  examples: {
    'guest create --label Mum': 'print a link for Mum',
    'guest create --label "Dr. Roth" --expires-in 30d': 'a link that ends after 30 days',
  },
  fields: {
    label: textField('label'),
    expires_in: secondsField('expires-in'),
    external_member_id: idField('for', 'external member'),
  },
  needed: ['label'],
  work(api, body) {
    const create = () => api.guestCodes.create({ body })
    return body.external_member_id === undefined ? create() : byId('external member', create)
  },
  line: ({ url }) => url,
  next: ({ id, label, expires_at }) =>
    `${inQuotes(shown(label))} (${id}), valid until ${expires_at}. To see your words for this guest: countersignd code ${typedName({ id, name: label })}`,
})

export const guestRevoke = deleteCommand({
  kind: 'guest code',
  help: 'Revokes a guest code. Its words no longer verify on this device.',
  work: (api, id) => api.guestCodes.delete({ id }),
  state: 'revoked',
  done: (guest) => `Revoked ${guest}.`,
})

/** Returns whether an error reports that the mail address is missing. */
const isNowhere = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'validation_failed' &&
  error.details.issues?.[0]?.path === 'to'

const nowhere = (cause: unknown) =>
  new AppError(
    'validation_failed',
    'This guest code has no external member with an e-mail address. Give the address with --to.',
    { cause },
  )

export const guestSend: Command = {
  usage: 'GUEST [--to ADDRESS] [--json]',
  help: `
Sends the link of a guest code by mail, through the account server. The code must have been created on this device.
Anyone who reads the mail can see the words, so it is safer to hand the link over in person. The secret of a guest code
passes through the account server only if you use this command.

  --to ADDRESS   send the mail to this address (default: the address of the external member)`,
  examples: {
    'guest send Mum --to mum@example.org': 'mail the link to Mum',
  },
  options: { to: { type: 'string' } },
  args: [1, 1],
  takes: ['guest code'],
  async run({ args: [id = ''], options: { to }, withApi, print, say }) {
    const body = to === undefined ? {} : { to: String(to) }
    const send = () => withApi((api) => api.guestCodes.send({ id, body }))
    const guest = await byId('guest code', send).catch((error: unknown) => {
      throw to === undefined && isNowhere(error) ? nowhere(error) : error
    })
    print(guest, [])
    say(
      `The link of ${inQuotes(shown(guest.label))} was sent. It is valid until ${guest.expires_at}.`,
    )
  },
}
