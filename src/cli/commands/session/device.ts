/** The commands for the account's devices and their sessions. */
import { every } from '../../../api/cursor.ts'
import { APPROVAL_WARNING } from '../../../api/local/index.ts'
import type { Device } from '../../../api/rest/account.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { listCommand, deleteCommand } from '../../collection.ts'
import type { Api, Command, Invocation } from '../../command.ts'
import { showNotices } from '../../notices.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import { shown, table } from '../../table.ts'

const STATES = { active: 'active', pending: 'awaits approval' } as const

export const deviceList = listCommand({
  help: 'Lists the devices of the account, newest first; those that await approval too.',
  work: (api, query) => api.devices.list(query),
  heading: ['ID', 'NAME', 'PLATFORM', 'STATE', 'LAST SEEN'],
  row: ({ id, name, platform, state, current, last_seen_at }) => [
    id,
    current ? `${name} (this one)` : name,
    platform,
    STATES[state],
    last_seen_at ?? 'never',
  ],
})

/**
 * Returns the devices that await approval.
 * @throws AppError if this device is one of them, or if no device awaits approval
 */
async function waiting(api: Api): Promise<Device[]> {
  const devices = await every((query) => api.devices.list(query))
  const pending = devices.filter(({ state }) => state === 'pending')
  if (pending.some(({ current }) => current))
    throw new AppError(
      'invalid_state',
      'This device awaits approval itself: run "countersignd device approve" on one that is signed in.',
    )
  if (pending.length > 0) return pending
  throw new AppError(
    'not_found',
    'No device awaits approval: run "countersignd login" on the new one first.',
  )
}

/**
 * Returns the device that the user chooses. If there is only one device, the user is not asked.
 * @throws AppError `invalid_state`
 */
async function chosen({ io, withApi }: Invocation, prompt: Prompt): Promise<string> {
  const pending = await withApi(waiting)
  if (pending.length === 1) return pending[0]!.id
  const names = pending.map(({ id, name }) => `${id} (${shown(name)})`)
  const several = new AppError(
    'invalid_state',
    `Several devices await approval: name one of ${names.join(', ')}.`,
  )
  if (!prompt.isTerminal) throw several
  const rows = pending.map(({ name, platform, created_at }, at) => [
    String(at + 1),
    name,
    platform,
    created_at,
  ])
  const lines = await table(['', 'NAME', 'PLATFORM', 'SINCE'], rows)
  io.stderr.write(`These devices await approval:\n${lines.join('\n')}\n`)
  const typed = await prompt.ask('Number of the device to approve: ')
  const one = /^\d{1,6}$/.test(typed ?? '') ? pending[Number(typed) - 1] : undefined
  if (one === undefined) throw several
  return one.id
}

const saidOnce = (name: string) => ({
  waiting: `Waiting for "${name}", at most 15 minutes: run "countersignd login" on it.`,
  answered: `"${name}" is in an attempt that was answered before: press Enter there, or run "countersignd login" on it again.`,
  revealing: null,
})

/** Begins an approval, waits until the new device's words can be typed, and returns its name. */
async function ready(api: Api, { io, second }: Invocation, id: string): Promise<string> {
  let seen = await api.approvals.begin({ id })
  const name = shown(seen.device_name)
  for (let said: string | null = null; seen.state !== 'ready';) {
    const says = saidOnce(name)[seen.state]
    if (says !== null && says !== said) io.stderr.write(`${says}\n`)
    said = says ?? said
    await second()
    seen = await api.approvals.advance({ id })
  }
  return name
}

/** The errors that the user can correct immediately. */
const ASKED_AGAIN: readonly unknown[] = ['word_count', 'unknown_word', 'validation_failed']

/**
 * Asks for the new device's words and approves the device.
 *
 * At a terminal, the user can correct a typing error.
 */
async function approved(api: Api, { io }: Invocation, prompt: Prompt, id: string, name: string) {
  io.stderr.write(`${APPROVAL_WARNING}\n`)
  for (;;) {
    const words = await prompt.ask(`Four words that "${name}" shows: `)
    if (words === null)
      throw new AppError(
        'invalid_state',
        'Nothing was approved: give the four words that the new device shows, on standard input without a terminal.',
      )
    try {
      return await api.approvals.create({ id, body: { words } })
    } catch (error) {
      const isAgain = error instanceof AppError && ASKED_AGAIN.includes(error.code)
      if (!prompt.isTerminal || !isAgain) throw error
      io.stderr.write(`${error.message}\n`)
    }
  }
}

export const deviceApprove: Command = {
  usage: '[ID] [--json]',
  help: `
Approves a device that awaits it, chosen from a list unless there is only one or its ID is given. "countersignd login" must run on
the new device meanwhile. Asks for the four words that the new device shows, from standard input without a terminal, and prints
four others to type there. An attempt lasts 15 minutes; five in 24 hours are the most.

${APPROVAL_WARNING}

The new device gets no secret before those four were typed on it, and then by the next syncs.

The words are what keeps a dishonest account server from slipping in a device of its own: read them off the new device itself.
If they are refused although they were typed as shown, approve nothing, and ask the operator of the account server.`,
  args: [0, 1],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      const { args, withApi, print, say } = invocation
      const id = args[0] ?? (await chosen(invocation, prompt))
      // All steps use one `withApi`, because the random values of the approval exist only in the
      // memory of the daemon, or of this process while it has the state lock.
      const made = await withApi(async (api) => {
        const name = await byId('device', id, () => ready(api, invocation, id))
        return approved(api, invocation, prompt, id, name)
      })
      say(`Almost done. Now type these four words on "${shown(made.device_name)}":`)
      print({ id, ...made }, made.words)
    }),
}

export const deviceRenew: Command = {
  usage: '[--json]',
  help: `
Gives this device a new sealing key: the one to which others seal the secrets of connections for it. A device does so by itself every
90 days. Do it at once where the keychain of this device, or a backup of it, may have been read: what is sealed from now on does not open
with a copy of the old key. A copy still opens what was sealed before, and its holder also has the other keys of this device: if it was
stolen, revoke the device ("countersignd device revoke" on another one).

The old key is kept for 7 days, for what is sealed to it already, and then deleted. The safety number stays, and no contact is warned.
Six times in 7 days are the most.`,
  args: [0, 0],
  async run({ withApi, print, say }) {
    const renewed = await withApi((api) => api.sealKey.renew({}))
    print(renewed, [])
    say(
      `This device has a new sealing key. The old one is kept until ${renewed.old_key_until}, for what is sealed to it already.`,
    )
  },
}

export const deviceRevoke: Command = {
  usage: 'ID [--json]',
  help: `
Revokes a device: its sessions end, and nothing more is encrypted to it. A device that awaits approval is rejected. To revoke the
device that you are using, use "countersignd logout".

A thief may have the secrets of that device, so every connection gets a new secret at once. The next sync repeats what fails now.
Until then the words of those connections are not checked here. If the device set the current recovery key, a notice shows what
to do: a revocation does not end that key.`,
  args: [1, 1],
  async run({ io, args: [id = ''], withApi, print, say }) {
    await byId('device', id, () => withApi((api) => api.devices.delete({ id })))
    print({ id, state: 'revoked' }, [])
    say(`Revoked ${id}.`)
    await showNotices({ io, withApi })
  },
}

/** Returns the names of the account's devices and organisations, by id. */
async function namesOf(api: Api): Promise<ReadonlyMap<string, string>> {
  const devices = await every((query) => api.devices.list(query))
  const { organisations } = await api.context.read({})
  return new Map([...devices, ...organisations].map(({ id, name }) => [id, name]))
}

export const sessionList: Command = {
  usage: '[--json]',
  help: `
Lists the sessions of the account, newest first: each device that is signed in has one, and acts in the organisation that was chosen
there ("countersignd org use").`,
  args: [0, 0],
  async run({ withApi, print }) {
    const { items, names } = await withApi(async (api) => ({
      items: await every((query) => api.sessions.list(query)),
      names: await namesOf(api),
    }))
    const named = (id: string) => names.get(id) ?? id
    print(
      { items },
      await table(
        ['ID', 'DEVICE', 'LAST SEEN', 'SINCE', 'ACTS IN'],
        items.map(({ id, device_id, current, active_organisation_id, ...times }) => [
          id,
          current ? `${named(device_id)} (this one)` : named(device_id),
          times.last_seen_at,
          times.created_at,
          active_organisation_id === null ? '' : named(active_organisation_id),
        ]),
      ),
    )
  },
}

export const sessionEnd = deleteCommand({
  kind: 'session',
  help: `
Ends the session of another device, at once. The device and its keys stay: it signs in again with "countersignd login". To be rid of a
device for good, use "countersignd device revoke". The session of the device you are at is not ended so: where it signed in, it leaves with
"countersignd logout"; an embedded account needs no sign-in, and has nothing to end.`,
  work: (api, id) => api.sessions.delete({ id }),
  state: 'ended',
  done: (id) => `Ended ${id}. Its device signs in again with "countersignd login".`,
})
