import { every } from '../../../api/cursor.ts'
import type { Email } from '../../../api/rest/account.ts'
import type { Command } from '../../command.ts'
import { shown, table } from '../../table.ts'

const stateOf = ({ primary, verified }: Email): string => {
  if (!verified) return 'waits for its link'
  return primary ? 'confirmed; mail goes there' : 'confirmed'
}

export const emailList: Command = {
  usage: '[--json]',
  help: 'Lists the e-mail addresses of the account, newest first; those that were not confirmed yet for a day.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.emails.list(query)))
    print(
      { items },
      await table(
        ['ADDRESS', 'STATE', 'ADDED'],
        items.map((email) => [email.address, stateOf(email), email.created_at]),
      ),
    )
  },
}

export const emailAdd: Command = {
  usage: 'ADDRESS [--json]',
  help: `
Adds an e-mail address to the account: a link is mailed there; open it and confirm. From then on a code
that is mailed there signs in to the account, and invitations to the address reach it.

A second run mails another link, and the one before ends. At most three such mails an hour go to one address, from all accounts
together. After that none is sent, and the newest link stays valid.`,
  args: [1, 1],
  async run({ args: [address = ''], withApi, print, say }) {
    const made = await withApi((api) => api.emails.create({ body: { address } }))
    print(made, [])
    say(
      `A link goes to ${shown(made.address)}: open it within 24 hours, and confirm there. ` +
        'At most three mails an hour go to one address; the newest link counts.',
    )
  },
}
