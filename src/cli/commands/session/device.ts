/** The commands for the account's devices and their sessions. */
import { inQuotes } from '../../../api/name-text.ts'
import { every } from '../../../api/cursor.ts'
import { APPROVAL_WARNING } from '../../../api/rest/approvals.ts'
import type { Device } from '../../../api/rest/account.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { listCommand, deleteCommand } from '../../collection.ts'
import type { Api, Command, Invocation } from '../../command.ts'
import { showNotices } from '../status.ts'
import { type Prompt, withPrompt } from '../../prompt.ts'
import {
  type Look,
  TIMEOUT_HELP,
  WAIT_OPTIONS,
  type WaitTerms,
  patienceOf,
  waitUntilUsable,
} from '../../wait.ts'
import { APPROVAL_POLL_MS } from './sign-in-steps.ts'
import { printLabelled } from '../../labels.ts'
import { shown, table } from '../../table.ts'
import { when, whenOr } from '../../times.ts'

const STATES = { active: 'active', pending: 'awaits approval' } as const

export const deviceList = listCommand({
  help: 'Lists the devices of the account, newest first, including devices that await approval.',
  work: (api, query) => api.devices.list(query),
  heading: ['ID', 'NAME', 'PLATFORM', 'STATE', 'LAST SEEN'],
  row: ({ id, name, platform, state, current, last_seen_at }) => [
    id,
    current ? `${name} (this one)` : name,
    platform,
    STATES[state],
    whenOr('never', last_seen_at),
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
      'This device itself awaits approval. Run "countersignd device approve" on a device that is signed in.',
    )
  if (pending.length > 0) return pending
  throw new AppError(
    'not_found',
    'No device awaits approval. First run "countersignd login" on the new device.',
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
    `Several devices await approval. Give the id of one of them: ${names.join(', ')}.`,
  )
  if (!prompt.isTerminal) throw several
  const rows = pending.map(({ name, platform, created_at }, at) => [
    String(at + 1),
    name,
    platform,
    when(created_at),
  ])
  const lines = await table(['', 'NAME', 'PLATFORM', 'SINCE'], rows, io.stdout)
  io.stderr.write(`These devices await approval:\n${lines.join('\n')}\n`)
  const typed = await prompt.ask('Number of the device to approve: ')
  const one = /^\d{1,6}$/.test(typed ?? '') ? pending[Number(typed) - 1] : undefined
  if (one === undefined) throw several
  return one.id
}

const printedOnce = (name: string) => ({
  waiting: `Waiting for ${name}, at most 15 minutes. Run "countersignd login" on that device.`,
  answered: `${name} still shows the words of an earlier attempt. Press Enter there, or run "countersignd login" there again.`,
  revealing: null,
})

/** Begins an approval, waits until the new device's words can be typed, and returns its name. */
async function ready(api: Api, { io, pause }: Invocation, id: string): Promise<string> {
  let seen = await api.approvals.begin({ id })
  const name = inQuotes(seen.device_name)
  for (let printed: string | null = null; seen.state !== 'ready';) {
    const says = printedOnce(name)[seen.state]
    if (says !== null && says !== printed) io.stderr.write(`${says}\n`)
    printed = says ?? printed
    await pause(APPROVAL_POLL_MS)
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
    const words = await prompt.ask(`Four words that ${name} shows: `)
    if (words === null)
      throw new AppError(
        'invalid_state',
        'Nothing was approved, because the four words of the new device were not given. Without a terminal, give them on standard input.',
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

/** Looks how far a device is that was approved here. */
async function lookAtDevice(api: Api, id: string, name: string): Promise<Look> {
  const approved = `You approved ${name}. The four words of this device must be typed on it.`
  try {
    const { state, unsealed } = await api.approvals.read({ id })
    if (state === 'pending') return { steps: [approved], usable: null, refusal: null }
    const steps = [approved, `${name} is signed in.`]
    const usable =
      unsealed === 0
        ? `The secrets of all connections are sealed to ${name}. Words can be used on it as soon as it has synced.`
        : null
    return { steps, usable, refusal: null }
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
    const refusal = `${name} does not belong to the account any more. It was declined or revoked, or it revoked itself because other words were typed on it. To add it, sign in on it again: "countersignd login".`
    return { steps: [], usable: null, refusal }
  }
}

type Approved = Awaited<ReturnType<Api['approvals']['create']>>

/** Waits until a device that was approved here has the secrets of all connections. */
function waitForDevice(
  invocation: Invocation,
  api: Api,
  { id, made, ...terms }: WaitTerms & { id: string; made: Approved },
): Promise<number> {
  // The JSON is the last output, and the words are needed before.
  if (invocation.json) invocation.io.stderr.write(`${made.words}\n`)
  return waitUntilUsable(invocation, api, {
    ...terms,
    look: () => lookAtDevice(api, id, inQuotes(made.device_name)),
    later: 'device list',
    answer: () => ({ id, ...made }),
  })
}

export const deviceApprove: Command = {
  usage: '[DEVICE] [--wait [--timeout TIME]] [--json]',
  help: `
Approves a new device. If several devices await approval and no DEVICE is given, you choose one from a list.
"countersignd login" must be running on the new device. This command asks for the four words that the new device
shows (without a terminal: on standard input), and prints four different words, which you type on the new device.
An attempt lasts 15 minutes. At most five attempts in 24 hours are possible.

${APPROVAL_WARNING}

The new device receives no secrets until the second four words have been typed on it. It receives the secrets with
the next syncs.

  --wait           wait until the secrets of all connections are encrypted for the new device, and show each step on
                   the way
  --timeout TIME   ${TIMEOUT_HELP}

The words prevent a dishonest account server from adding a device of its own, so read them from the screen of the
new device. If the words are rejected although you typed them correctly, do not approve the device, and ask the
operator of the account server.`,
  examples: {
    'device approve': 'approve the device that waits',
    'device approve laptop --wait': 'wait until it has all words',
  },
  options: WAIT_OPTIONS,
  args: [0, 1],
  takes: ['device'],
  run: (invocation) =>
    withPrompt(invocation.io, async (prompt) => {
      const { args, withApi, say, json } = invocation
      const patienceMs = patienceOf(invocation)
      const id = args[0] ?? (await chosen(invocation, prompt))
      // All steps use one `withApi`, because the random values of the approval exist only in the
      // memory of the daemon, or of this process while it has the state lock.
      return withApi(async (api, hasDaemon) => {
        const name = await byId('device', () => ready(api, invocation, id))
        const made = await approved(api, invocation, prompt, id, name)
        say(`Almost done. Now type these four words on ${inQuotes(made.device_name)}:`)
        if (patienceMs === null || !json)
          printLabelled(
            invocation,
            { id, ...made },
            { bare: made.words, rows: [['Words', made.words]] },
          )
        if (patienceMs !== null)
          return waitForDevice(invocation, api, { id, made, hasDaemon, patienceMs })
      })
    }),
}

export const deviceRenew: Command = {
  usage: '[--json]',
  help: `
Gives this device a new sealing key. Other devices use this key to encrypt the secrets of connections for this
device. A device renews the key by itself every 90 days. Run this command immediately if someone may have read the
keychain of this device or a backup of the keychain. A copy of the old key decrypts only data that was encrypted
before the renewal. If the device was stolen, the thief also has its other keys: run "countersignd device revoke" on
another device instead.

The old key is deleted after 7 days. Until then, the device can still decrypt data that was encrypted with the old
key. The safety number does not change, and no contact is warned. At most six renewals in 7 days are possible.`,
  args: [0, 0],
  async run({ withApi, print, say }) {
    const renewed = await withApi((api) => api.sealKey.renew({}))
    print(renewed, [])
    say(
      `This device has a new sealing key. The old key is kept until ${when(renewed.old_key_until)}, for secrets that are already encrypted with it.`,
    )
  },
}

export const deviceRevoke: Command = {
  usage: 'DEVICE [--json]',
  help: `
Revokes a device: its sessions end, and no more data is encrypted for it. If the device awaits approval, the
approval is declined. To revoke the device that you are using, use "countersignd logout".

A thief may have the secrets of the revoked device, so every connection immediately gets a new secret. If a new
secret cannot be created for one connection, the next sync tries again. Until then, the words of this connection do
not verify on this device. If the revoked device has set a recovery key, this key stays valid, and a notice shows what
to do.`,
  args: [1, 1],
  takes: ['device'],
  async run({ io, args: [id = ''], called, withApi, print, say }) {
    await byId('device', () => withApi((api) => api.devices.delete({ id })))
    print({ id, state: 'revoked' }, [])
    say(`Revoked ${called(id)}.`)
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
Lists the sessions of the account, newest first. Each device that is signed in has one session. The last column is
the current organisation of the device ("countersignd org use").`,
  args: [0, 0],
  async run({ io, withApi, print }) {
    const { items, names } = await withApi(async (api) => ({
      items: await every((query) => api.sessions.list(query)),
      names: await namesOf(api),
    }))
    const named = (id: string) => names.get(id) ?? id
    print(
      { items },
      await table(
        ['ID', 'DEVICE', 'LAST SEEN', 'SINCE', 'ORGANISATION'],
        items.map(({ id, device_id, current, active_organisation_id, ...times }) => [
          id,
          current ? `${named(device_id)} (this one)` : named(device_id),
          when(times.last_seen_at),
          when(times.created_at),
          active_organisation_id === null ? '' : named(active_organisation_id),
        ]),
        io.stdout,
      ),
    )
  },
}

export const sessionEnd = deleteCommand({
  kind: 'session',
  help: `
Ends the session of another device immediately. The device keeps its keys and can sign in again with
"countersignd login". To remove a device permanently, use "countersignd device revoke".

This command cannot end the session of the device that you are using. To sign out, use "countersignd logout". An
embedded account needs no sign-in and has no sessions.`,
  work: (api, id) => api.sessions.delete({ id }),
  state: 'ended',
  done: (session) => `Ended ${session}. The device can sign in again with "countersignd login".`,
})
