import { every } from '../../../api/cursor.ts'
import { byId } from '../../by-id.ts'
import { type Command, UsageError } from '../../command.ts'
import { shown, table } from '../../table.ts'

/** Returns a note in one line. */
const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

export const externalList: Command = {
  usage: '[--json]',
  help: 'Lists external members, newest first: people without an account, for guest codes.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.externalMembers.list(query)))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'EMAIL', 'PHONE', 'NOTE'],
        items.map(({ id, display_name, email, phone, note }) => [
          id,
          display_name,
          email ?? '',
          phone ?? '',
          onOneLine(note ?? ''),
        ]),
      ),
    )
  },
}

export const externalCreate: Command = {
  usage: '--name NAME [--email ADDRESS] [--phone NUMBER] [--note TEXT] [--json]',
  help: `
Adds a person without an account, for guest codes: "countersignd guest create --for ID". They get no message.

  --name NAME       shown on the page of their guest codes
  --email ADDRESS   where "countersignd guest send" mails their links
  --phone NUMBER    for yourself
  --note TEXT       for yourself`,
  options: {
    name: { type: 'string' },
    email: { type: 'string' },
    phone: { type: 'string' },
    note: { type: 'string' },
  },
  args: [0, 0],
  async run({ options, withApi, print, say }) {
    const { name } = options
    if (name === undefined) throw new UsageError('--name is missing: the name of the person.')
    const given = Object.fromEntries(
      ['email', 'phone', 'note'].flatMap((of) =>
        options[of] === undefined ? [] : [[of, String(options[of])]],
      ),
    )
    const body = { display_name: String(name), ...given }
    const made = await withApi((api) => api.externalMembers.create({ body }))
    print(made, `${made.id}  ${shown(made.display_name)}`)
    say(`A guest code for them: countersignd guest create --for ${made.id} --label LABEL`)
  },
}

export const externalDelete: Command = {
  usage: 'ID [--json]',
  help: 'Deletes an external member, and revokes the guest codes that are for them: their words prove nothing here from now on.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await byId('external member', id, () => withApi((api) => api.externalMembers.delete({ id })))
    print({ id, state: 'deleted' }, [])
    say(`Deleted ${id}, and revoked the guest codes that were for them.`)
  },
}
