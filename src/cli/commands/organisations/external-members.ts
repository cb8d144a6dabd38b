import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import { textField } from '../../option-fields.ts'
import { shown } from '../../table.ts'

/** Returns a note in one line. */
const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

export const externalList = listCommand({
  help: 'Lists external members, newest first. External members are people without an account, for guest codes.',
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
Adds an external member: a person without an account, for guest codes. To create a guest code for them, use
"countersignd guest create --for ID". They get no message.

  --name NAME       the name, which the page of their guest codes shows
  --email ADDRESS   the address to which "countersignd guest send" mails the links of their guest codes
  --phone NUMBER    a phone number that only you see
  --note TEXT       a note that only you see`,
  fields: {
    display_name: textField('name'),
    email: textField('email'),
    phone: textField('phone'),
    note: textField('note'),
  },
  needed: { display_name: 'Give --name with the name of the person.' },
  work: (api, body) => api.externalMembers.create({ body }),
  line: ({ id, display_name }) => `${id}  ${shown(display_name)}`,
  next: ({ id }) =>
    `To create a guest code for them: countersignd guest create --for ${id} --label LABEL`,
})

export const externalDelete = deleteCommand({
  kind: 'external member',
  help: 'Deletes an external member and revokes their guest codes. The words of these codes no longer verify here.',
  work: (api, id) => api.externalMembers.delete({ id }),
  done: (id) => `Deleted ${id} and revoked their guest codes.`,
})
