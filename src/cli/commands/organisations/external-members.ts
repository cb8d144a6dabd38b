import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import { textField } from '../../option-fields.ts'
import { shown } from '../../table.ts'

/** Returns a note in one line. */
const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

export const externalList = listCommand({
  help: 'Lists external members, newest first: people without an account, for guest codes.',
  work: (api, query) => api.externalMembers.list(query),
  heading: ['ID', 'NAME', 'EMAIL', 'PHONE', 'NOTE'],
  row: ({ id, display_name, email, phone, note }) => [
    id,
    display_name,
    email ?? '',
    phone ?? '',
    onOneLine(note ?? ''),
  ],
})

export const externalCreate = createCommand({
  usage: '--name NAME [--email ADDRESS] [--phone NUMBER] [--note TEXT] [--json]',
  help: `
Adds a person without an account, for guest codes: "countersignd guest create --for ID". They get no message.

  --name NAME       shown on the page of their guest codes
  --email ADDRESS   where "countersignd guest send" mails their links
  --phone NUMBER    for yourself
  --note TEXT       for yourself`,
  fields: {
    display_name: textField('name'),
    email: textField('email'),
    phone: textField('phone'),
    note: textField('note'),
  },
  needed: { display_name: '--name is missing: the name of the person.' },
  work: (api, body) => api.externalMembers.create({ body }),
  line: ({ id, display_name }) => `${id}  ${shown(display_name)}`,
  next: ({ id }) => `A guest code for them: countersignd guest create --for ${id} --label LABEL`,
})

export const externalDelete = deleteCommand({
  kind: 'external member',
  help: 'Deletes an external member, and revokes the guest codes that are for them: their words prove nothing here from now on.',
  work: (api, id) => api.externalMembers.delete({ id }),
  done: (id) => `Deleted ${id}, and revoked the guest codes that were for them.`,
})
