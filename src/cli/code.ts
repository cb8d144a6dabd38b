import { AppError } from '../errors.ts'
import type { Api, Command } from './command.ts'
import { every } from './every.ts'

async function guestCode(api: Api, id: string) {
  const guest = (await every((query) => api.guestCodes.list(query))).find((item) => item.id === id)
  if (guest === undefined)
    throw new AppError(
      'not_found',
      'There is no guest code with this id. "countersignd guest list" shows them.',
    )
  if (guest.code === null)
    throw new AppError(
      'invalid_state',
      guest.state === 'active'
        ? 'The secret of this guest code is on another device.'
        : `This guest code is ${guest.state}.`,
    )
  return { guest_code_id: id, ...guest.code }
}

export const codeCommand: Command = {
  usage: 'ID [--json]',
  help: `
Shows the three words to say now on a connection (con_…) or to a guest (gst_…). They turn every minute.

Whoever places the call speaks first. If you were called, check the caller's words with "countersignd verify" before you
say yours.`,
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    const code = await withApi<{ words: string; valid_until: string }>((api) =>
      id.startsWith('gst_') ? guestCode(api, id) : api.connections.code({ id }),
    )
    print(code, code.words)
    say(`Good until ${code.valid_until}. Whoever places the call speaks first.`)
  },
}
