import { every } from '../api/cursor.ts'
import type { Device } from '../api/rest/account.ts'
import { AppError } from '../errors.ts'
import { byId } from './by-id.ts'
import type { Api, Command, Invocation } from './command.ts'
import { type Prompt, withPrompt } from './prompt.ts'
import { shown, table } from './table.ts'

const devices = (api: Api): Promise<Device[]> => every((query) => api.devices.list(query))

const STATES = { active: 'active', pending: 'awaits approval' } as const

export const deviceList: Command = {
  usage: '[--json]',
  help: 'Lists the devices of the account, newest first; those that await approval too.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi(devices)
    print(
      { items },
      table(
        ['ID', 'NAME', 'PLATFORM', 'STATE', 'LAST SEEN'],
        items.map(({ id, name, platform, state, current, last_seen_at }) => [
          id,
          current ? `${name} (this one)` : name,
          platform,
          STATES[state],
          last_seen_at ?? 'never',
        ]),
      ),
    )
  },
}

/** The one device that awaits approval. */
async function waiting(api: Api): Promise<Device> {
  const pending = (await devices(api)).filter(({ state }) => state === 'pending')
  if (pending.some(({ current }) => current))
    throw new AppError(
      'invalid_state',
      'This device awaits approval itself: run "countersignd device approve" on one that is signed in.',
    )
  const [only, ...others] = pending
  if (only === undefined)
    throw new AppError(
      'not_found',
      'No device awaits approval: run "countersignd login" on the new one first.',
    )
  if (others.length === 0) return only
  const names = pending.map(({ id, name }) => `${id} (${shown(name)})`)
  throw new AppError(
    'invalid_state',
    `Several devices await approval: name one of ${names.join(', ')}.`,
  )
}

/** The words of the new device, compared. At a terminal, a slip of the finger may be put right. */
async function approved({ io, withApi }: Invocation, prompt: Prompt, id: string) {
  for (;;) {
    const words = await prompt.ask('Six words that the new device shows: ')
    if (words === null)
      throw new AppError(
        'invalid_state',
        'Nothing was approved: give the six words that the new device shows, on standard input without a terminal.',
      )
    try {
      return await byId('device', id, () =>
        withApi((api) => api.approvals.create({ id, body: { words } })),
      )
    } catch (error) {
      const isSlip =
        error instanceof AppError && (error.code === 'word_count' || error.code === 'unknown_word')
      if (!prompt.isTerminal || !isSlip) throw error
      io.stderr.write(`${error.message}\n`)
    }
  }
}

export const deviceApprove: Command = {
  usage: '[ID] [--json]',
  help: `
Approves a device that awaits it; with one waiting, no ID is needed. Asks for the six words that the new device shows, from
standard input without a terminal, and prints six words to type there.

The new device gets no secret at once: nothing is sealed to it before connections are synced.

The words are what keeps a dishonest account server from slipping in a device of its own: read them off the new device itself.
If they are refused although they were typed as shown, approve nothing, and ask the operator of the account server.`,
  args: [0, 1],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      const { args, withApi, print, say } = invocation
      const id = args[0] ?? (await withApi(waiting)).id
      const made = await approved(invocation, prompt, id)
      say(`Added "${shown(made.device_name)}" to the key log. Type these six words on it:`)
      print({ id, ...made }, made.words)
    }),
}

export const deviceRevoke: Command = {
  usage: 'ID [--json]',
  help: `
Revokes a device: its sessions end, and nothing is sealed to it any more. One that awaits approval is turned away. To revoke the
device you are at, use "countersignd logout".

Whoever had this device's secrets keeps what it knew, so every connection gets a new secret at once; what fails now, the next sync does.
Until then the words of those connections are not checked here.`,
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await byId('device', id, () => withApi((api) => api.devices.delete({ id })))
    print({ id, state: 'revoked' }, [])
    say(`Revoked ${id}.`)
  },
}
