import type { GuestCode } from '../../../api/rest/guest-codes.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { type Command, UsageError } from '../../command.ts'
import { parseSeconds } from '../../duration.ts'
import { STATE, given } from '../../filters.ts'
import { every } from '../../../api/cursor.ts'
import { table } from '../../table.ts'

export const guestList: Command = {
  usage: '[--state active|revoked|expired] [--json]',
  help: `
Lists guest codes, newest first. Their links are shown at creation and in the QR image only.

  --state STATE   only those in this state`,
  options: STATE,
  args: [0, 0],
  async run({ options, withApi, print }) {
    const those = given(options, ['state']) as { state?: GuestCode['state'] }
    const items = await withApi((api) =>
      every((query) => api.guestCodes.list({ ...query, ...those })),
    )
    print(
      { items },
      await table(
        ['ID', 'LABEL', 'FOR', 'STATE', 'EXPIRES', 'LAST OPENED'],
        items.map(({ id, label, external_member: external, state, expires_at, last_opened_at }) => [
          id,
          label,
          external?.display_name ?? '',
          state,
          expires_at,
          last_opened_at ?? 'never',
        ]),
      ),
    )
  },
}

export const guestCreate: Command = {
  usage: '--label LABEL [--expires-in 7d] [--for EXTERNAL] [--json]',
  help: `
Creates a guest code and prints its link, this once. Every holder of the link has its words: hand it over in person or by a
channel you trust.

  --for EXTERNAL   the external member who gets it, by id ("countersignd external list");
                   the page of the code shows their name

On a call, the caller speaks first; the other side answers only after the caller's words were checked.`,
  options: {
    label: { type: 'string' },
    'expires-in': { type: 'string' },
    for: { type: 'string' },
  },
  args: [0, 0],
  async run({ options, withApi, print, say }) {
    const { label, 'expires-in': lifetime, for: external } = options
    if (label === undefined) throw new UsageError('--label is missing: a name for the guest.')
    const body = {
      label: String(label),
      ...(lifetime === undefined
        ? {}
        : { expires_in: parseSeconds('expires-in', String(lifetime)) }),
    }
    const create = (more: { external_member_id?: string }) =>
      withApi((api) => api.guestCodes.create({ body: { ...body, ...more } }))
    const made = await (external === undefined
      ? create({})
      : byId('external member', String(external), () =>
          create({ external_member_id: String(external) }),
        ))
    print(made, made.url)
    say(
      `${made.id}, good until ${made.expires_at}. Your words for this guest: countersignd code ${made.id}`,
    )
  },
}

export const guestRevoke: Command = {
  usage: 'ID [--json]',
  help: 'Revokes a guest code: from now on its words prove nothing here.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await byId('guest code', id, () => withApi((api) => api.guestCodes.delete({ id })))
    print({ id, state: 'revoked' }, [])
    say(`Revoked ${id}.`)
  },
}

/** Returns whether the error reports a missing address. */
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
