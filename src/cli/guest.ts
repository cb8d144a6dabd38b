import { byId } from './by-id.ts'
import { type Command, UsageError } from './command.ts'
import { seconds } from './duration.ts'
import { every } from '../api/cursor.ts'
import { table } from './table.ts'

export const guestList: Command = {
  usage: '[--json]',
  help: 'Lists guest codes, newest first. Their links are shown at creation and in the QR image only.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.guestCodes.list(query)))
    print(
      { items },
      table(
        ['ID', 'LABEL', 'STATE', 'EXPIRES', 'LAST OPENED'],
        items.map(({ id, label, state, expires_at, last_opened_at }) => [
          id,
          label,
          state,
          expires_at,
          last_opened_at ?? 'never',
        ]),
      ),
    )
  },
}

export const guestCreate: Command = {
  usage: '--label LABEL [--expires-in 7d] [--json]',
  help: `
Creates a guest code and prints its link, this once. Whoever has the link can say its words: hand it over in person or by a
channel you trust.

On a call, whoever places it speaks first; the other says theirs only after the first were checked.`,
  options: { label: { type: 'string' }, 'expires-in': { type: 'string' } },
  args: [0, 0],
  async run({ options, withApi, print, say }) {
    const { label, 'expires-in': lifetime } = options
    if (label === undefined) throw new UsageError('--label says who the guest is; give one.')
    const body = {
      label: String(label),
      ...(lifetime === undefined ? {} : { expires_in: seconds('expires-in', String(lifetime)) }),
    }
    const made = await withApi((api) => api.guestCodes.create({ body }))
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
