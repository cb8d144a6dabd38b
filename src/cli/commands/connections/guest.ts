import type { GuestCode } from '../../../api/rest/guest-codes.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import type { Command } from '../../command.ts'
import { idField, secondsField, textField } from '../../option-fields.ts'

export const guestList = listCommand({
  usage: '[--state active|revoked|expired] [--json]',
  help: `
Lists guest codes, newest first. Their links are shown at creation and in the QR image only.

  --state STATE   only those in this state`,
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
Creates a guest code and prints its link, this once. Every holder of the link has its words: hand it over in person or by a
channel you trust.

  --for EXTERNAL   the external member who gets it, by id ("countersignd external list");
                   the page of the code shows their name

On a call, the caller speaks first; the other side answers only after the caller's words were checked.`,
  fields: {
    label: textField('label'),
    expires_in: secondsField('expires-in'),
    external_member_id: idField('for', 'external member'),
  },
  needed: { label: '--label is missing: a name for the guest.' },
  work(api, body) {
    const create = () => api.guestCodes.create({ body })
    const { external_member_id: external } = body
    return external === undefined ? create() : byId('external member', external, create)
  },
  line: ({ url }) => url,
  next: ({ id, expires_at }) =>
    `${id}, good until ${expires_at}. Your words for this guest: countersignd code ${id}`,
})

export const guestRevoke = deleteCommand({
  kind: 'guest code',
  help: 'Revokes a guest code: from now on its words prove nothing here.',
  work: (api, id) => api.guestCodes.delete({ id }),
  state: 'revoked',
  done: (id) => `Revoked ${id}.`,
})

/** Returns whether an error reports that the mail address is missing. */
const isNowhere = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'validation_failed' &&
  error.details.issues?.[0]?.path === 'to'

const nowhere = (cause: unknown) =>
  new AppError(
    'validation_failed',
    'Give --to: this guest code is for no external member who has an address.',
    { cause },
  )

export const guestSend: Command = {
  usage: 'ID [--to ADDRESS] [--json]',
  help: `
Mails the link of a guest code that was made on this device, through the account server. Only in this case does the secret of a guest
code pass through the server, and every reader of the mail has its words: handing the link over in person is safer.

  --to ADDRESS   in place of the address of the external member`,
  options: { to: { type: 'string' } },
  args: [1, 1],
  async run({ args: [id = ''], options: { to }, withApi, print, say }) {
    const body = to === undefined ? {} : { to: String(to) }
    const send = () => withApi((api) => api.guestCodes.send({ id, body }))
    const guest = await byId('guest code', id, send).catch((error: unknown) => {
      throw to === undefined && isNowhere(error) ? nowhere(error) : error
    })
    print(guest, [])
    say(`The link of ${id} is on its way, good until ${guest.expires_at}.`)
  },
}
