import { inQuotes } from '../../../api/name-text.ts'
import { reachableFrom } from '../../../api/reachable.ts'
import type { GuestCode } from '../../../api/rest/guest-codes.ts'
import { AppError } from '../../../errors.ts'
import { byId } from '../../by-id.ts'
import { createCommand, deleteCommand, listCommand } from '../../collection.ts'
import { type Api, type Command, UsageError } from '../../command.ts'
import { requireNew, writeNew } from '../../new-file.ts'
import { NO_RELAY, reachRow } from '../../labels.ts'
import { idField, secondsField, textField } from '../../option-fields.ts'
import { blackAndWhite } from '../../output.ts'
import { typedName } from '../../table.ts'
import { when, whenOr } from '../../times.ts'

export const guestList = listCommand({
  usage: '[--all | --state active|revoked|expired] [--json]',
  help: `
Lists the active guest codes, newest first. The link of a guest code is shown only when you create the code, and as
a QR code ("countersignd guest qr").

  --all           list also guest codes that were revoked or have expired
  --state STATE   list only guest codes in this state: active, revoked or expired`,
  filters: { state: textField<GuestCode['state']>('state') },
  work: (api, query) => api.guestCodes.list(query),
  hasEnded: ({ state }) => state !== 'active',
  heading: ['ID', 'LABEL', 'FOR', 'STATE', 'EXPIRES', 'LAST OPENED'],
  row: ({ id, label, external_member: external, state, expires_at, last_opened_at }) => [
    id,
    label,
    external?.display_name ?? '',
    state === 'active' ? '' : state,
    when(expires_at),
    whenOr('never', last_opened_at),
  ],
})

export const guestCreate = createCommand({
  usage: '--label LABEL [--expires-in 7d] [--for EXTERNAL] [--json]',
  help: `
Creates a guest code and prints its link. The link is shown only once. Anyone who has the link can see the words of
the guest, so hand it over in person or through a channel that you trust.

  --label LABEL      a name for the guest
  --expires-in 7d    how long the guest code is valid (default: 7d)
  --for EXTERNAL     the external member who gets the code ("countersignd external list"). The page that the
                     link opens shows the name of the external member

On a call, the caller says the words first. The person who was called checks them before saying their own words.`,
  examples: {
    'guest create --label Mum': 'print a link for Mum',
    'guest create --label "Dr. Roth" --expires-in 30d': 'a link that ends after 30 days',
  },
  fields: {
    label: textField('label'),
    expires_in: secondsField('expires-in'),
    external_member_id: idField('for', 'external member'),
  },
  needed: ['label'],
  work(api, body) {
    const create = () => api.guestCodes.create({ body })
    return body.external_member_id === undefined ? create() : byId('external member', create)
  },
  shows: ({ url, reachable, id, label, external_member: external, expires_at }) => ({
    bare: url,
    rows: [['Link', url]],
    details: [
      reachRow(reachable),
      ['Guest', label],
      ['For', external?.display_name],
      ['Valid until', when(expires_at)],
      ['Id', id],
    ],
  }),
  next: ({ id, label }) =>
    `To see your words for this guest: countersignd code ${typedName({ id, name: label })}\n` +
    `To show the link as a QR code: countersignd guest qr ${typedName({ id, name: label })}`,
})

export const guestRevoke = deleteCommand({
  kind: 'guest code',
  help: 'Revokes a guest code. Its words no longer verify on this device.',
  work: (api, id) => api.guestCodes.delete({ id }),
  state: 'revoked',
  done: (guest) => `Revoked ${guest}.`,
})

const OUT = '--out'

/**
 * Returns the format of an image file by its name.
 * @throws UsageError
 */
function formatOf(path: string): 'svg' | 'gif' {
  const format = (['svg', 'gif'] as const).find((one) => path.endsWith(`.${one}`))
  if (format === undefined) throw new UsageError(`${OUT}: the name must end in .svg or .gif.`)
  return format
}

/** Returns whether links open only on this machine; false if an API token may not ask. */
async function isOnlyHere(api: Api): Promise<boolean> {
  try {
    return reachableFrom((await api.publication.read({})).url) === 'this_machine'
  } catch (error) {
    if (error instanceof AppError && error.code === 'forbidden') return false
    throw error
  }
}

const readQr = async (api: Api, id: string, format: 'svg' | 'gif' | 'text'): Promise<Buffer> => {
  const { body } = await byId('guest code', () => api.guestCodes.qr({ id, format }))
  return Buffer.from(body as string | Uint8Array)
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

export const guestQr: Command = {
  usage: 'GUEST [--out FILE] [--json]',
  help: `
Shows the link of an active guest code as a QR code, which the guest scans with the camera of a phone. Run it on the
device that created the code. Anyone who sees the QR code can use the link, so show it only to the guest.

  --out FILE   write the QR code to a new image file, of which the name ends in .svg or .gif`,
  options: { out: { type: 'string' } },
  args: [1, 1],
  takes: ['guest code'],
  async run({ args: [id = ''], options, io, withApi, print, say }) {
    if (options['out'] !== undefined) {
      const path = String(options['out'])
      const format = formatOf(path)
      requireNew(path, OUT)
      const image = await withApi((api) => readQr(api, id, format))
      await writeNew(path, once(image), OUT)
      print({ id, file: path }, path)
      return
    }
    const { qr, onlyHere } = await withApi(async (api) => ({
      qr: await readQr(api, id, 'text'),
      onlyHere: await isOnlyHere(api),
    }))
    const text = qr.toString().trimEnd()
    const lines = text.split('\n')
    print({ id, text }, blackAndWhite(lines, { stream: io.stdout, env: io.env }))
    if (onlyHere) say('Only this machine can open the link. For others: countersignd publish')
    const { isTTY, columns = Infinity } = io.stdout
    const width = lines[0]?.length ?? 0
    if (isTTY === true && columns < width)
      say(`The terminal is too narrow. Make it ${width} columns wide, or use ${OUT} FILE.`)
  },
}

/** Returns whether an error reports that the mail address is missing. */
const isNowhere = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'validation_failed' &&
  error.details.issues?.[0]?.path === 'to'

const nowhere = (cause: unknown) =>
  new AppError(
    'validation_failed',
    'This guest code has no external member with an e-mail address. Give the address with --to.',
    { cause },
  )

export const guestSend: Command = {
  usage: 'GUEST [--to ADDRESS] [--json]',
  help: `
Sends the link of a guest code by mail, through the account server. The code must have been created on this device.
Anyone who reads the mail can see the words, so it is safer to hand the link over in person. The secret of a guest code
passes through the account server only if you use this command.

  --to ADDRESS   send the mail to this address (default: the address of the external member)`,
  examples: {
    'guest send Mum --to mum@example.org': 'mail the link to Mum',
  },
  options: { to: { type: 'string' } },
  args: [1, 1],
  takes: ['guest code'],
  async run({ args: [id = ''], options: { to }, withApi, print, say }) {
    const body = to === undefined ? {} : { to: String(to) }
    const send = () => withApi((api) => api.guestCodes.send({ id, body }))
    const guest = await byId('guest code', send).catch((error: unknown) => {
      throw to === undefined && isNowhere(error) ? nowhere(error) : error
    })
    print(guest, [])
    const label = inQuotes(guest.label)
    say(
      guest.mailed === false
        ? `The mail with the link of ${label} was only stored. ${NO_RELAY} Hand the link over yourself ("countersignd guest qr").`
        : `The link of ${label} was sent. It is valid until ${when(guest.expires_at)}.`,
    )
  },
}
