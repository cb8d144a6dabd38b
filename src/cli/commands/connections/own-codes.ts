/** Lists the own words for all contacts, and shows words anew each minute. */
import { AppError } from '../../../errors.ts'
import type { Api, Invocation } from '../../command.ts'
import { escapeMark } from '../../output.ts'
import { table } from '../../table.ts'
import { type ListedCallee, contactsOf } from './contacts.ts'

/** A contact with the words to say; without words, with the reason. */
interface ContactCode extends Pick<ListedCallee, 'kind' | 'id' | 'name'> {
  readonly words: string | null
  readonly valid_until: string | null
  readonly reason?: string
}

const NO_GUEST_WORDS =
  'The secret of this guest code is on another device, or the clock may be wrong.'

async function codeOfContact(api: Api, contact: ListedCallee): Promise<ContactCode> {
  const { kind, id, name, code } = contact
  const none = (reason: string) => ({ kind, id, name, words: null, valid_until: null, reason })
  try {
    const found = kind === 'guest' ? code : await api.connections.code({ id })
    if (found === null) return none(NO_GUEST_WORDS)
    return { kind, id, name, words: found.words, valid_until: found.valid_until }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return none(error.message)
  }
}

/** The shown words, and when they change; null if there are none. */
export interface CodePage {
  readonly answer: unknown
  readonly lines: readonly string[]
  readonly valid_until: string | null
}

/** Reads the words for all contacts. */
export async function everyonesCodes(api: Api): Promise<CodePage> {
  const items: ContactCode[] = []
  for (const contact of await contactsOf(api)) items.push(await codeOfContact(api, contact))
  const rows = items.map(({ name, kind, words, reason }) => [
    name,
    kind,
    words ?? `none: ${reason}`,
  ])
  // The list may have been read while the minute changed. The earliest end is always right.
  const [first] = items.flatMap(({ valid_until: until }) => until ?? []).toSorted()
  return {
    answer: { items },
    lines:
      rows.length === 0
        ? ['You have no contacts yet. Start with "countersignd guest create".']
        : await table(['NAME', 'KIND', 'YOUR WORDS'], rows),
    valid_until: first ?? null,
  }
}

const SECOND_MS = 1000
const MINUTE_MS = 60_000

/** Waits until a time. At a terminal, shows the seconds left. */
async function countDown({ io, pause, json }: Invocation, until: number): Promise<void> {
  const isShown = io.stderr.isTTY === true && !json
  for (let left = until - Date.now(); left > 0; left = until - Date.now()) {
    if (isShown) io.stderr.write(`\r${String(Math.ceil(left / SECOND_MS)).padStart(2)} s left `)
    await pause(isShown ? Math.min(left, SECOND_MS) : left)
  }
  if (isShown) io.stderr.write('\r')
}

/** Shows a page, and again each minute, until the user ends the command. */
export async function watchCodes(
  invocation: Invocation,
  read: (api: Api) => Promise<CodePage>,
): Promise<never> {
  const { io, print, withApi, json } = invocation
  for (;;) {
    const { answer, lines, valid_until } = await withApi(read)
    // Old words must not stay on the screen.
    if (io.stdout.isTTY === true && !json) io.stdout.write(`${escapeMark()}[2J${escapeMark()}[H`)
    print(answer, lines)
    const until = valid_until === null ? Date.now() + MINUTE_MS : Date.parse(valid_until)
    await countDown(invocation, until)
  }
}
