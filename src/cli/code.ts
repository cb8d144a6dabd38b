import { AppError } from '../errors.ts'
import { byId, noSuch } from './by-id.ts'
import type { Api, Command } from './command.ts'
import { every } from '../api/cursor.ts'

async function guestCode(api: Api, id: string) {
  const guest = (await every((query) => api.guestCodes.list(query))).find((item) => item.id === id)
  if (guest === undefined) throw noSuch('guest code')
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
    type Code = { words: string; valid_until: string }
    const code = id.startsWith('gst_')
      ? await byId('guest code', id, () => withApi<Code>((api) => guestCode(api, id)))
      : await byId('connection', id, () => withApi<Code>((api) => api.connections.code({ id })))
    print(code, code.words)
    say(
      `Good until ${code.valid_until}. If you were called, say them only after "countersignd verify" answered "Verified". Whoever places the call speaks first.`,
    )
  },
}
