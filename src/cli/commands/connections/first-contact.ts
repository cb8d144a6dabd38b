/**
 * Names people on the command line, and runs a first contact by four words.
 *
 * People are named by mailbox or account id. For a first contact, this file shows or asks for the
 * words, and waits for the result.
 */
import { setTimeout as after } from 'node:timers/promises'
import { calledOf } from '../../../api/name-text.ts'
import type { Invitee } from '../../../api/rest/connections.ts'
import type { ContactWords, FirstContact } from '../../../api/rest/first-contacts.ts'
import type { Invitation, Party } from '../../../api/rest/invitations.ts'
import { ID_PREFIX, isId } from '../../../crypto/encoding/id.ts'
import { AppError, EXIT } from '../../../errors.ts'
import { type Api, type Invocation, UsageError } from '../../command.ts'
import type { Prompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

/**
 * Parses a mailbox or an account id.
 * @throws UsageError for any other text
 */
export function inviteeOf(text: string): Invitee {
  if (isId(ID_PREFIX.account, text)) return { user_id: text }
  if (text.includes('@')) return { email: text }
  throw new UsageError(
    `"${shown(text)}" is neither an e-mail address nor the id of an account (acc_…).`,
  )
}

/** Returns the name of one party of an invitation; its account id if it has no name. */
function nameOf({ display_name, name_source, name_marks, user_id }: Party): string {
  if (display_name === null || name_source === null) return user_id ?? ''
  return calledOf({ display_name, name_source, name_marks })
}

/** Returns the inviter with name and mailbox, such as "Ada <ada@example.org>". */
export function inviterOf({ from }: Pick<Invitation, 'from'>): string {
  const { email } = from
  const name = nameOf(from)
  return email === null ? name : `${name} <${email}>`
}

/** Returns the invitee's mailbox, or their name if there is no mailbox. */
export const invitedOf = ({ to }: Pick<Invitation, 'to'>): string => to.email ?? nameOf(to)

export const WORDS_OPTION = { words: { type: 'boolean' } } as const

/** How often the result is polled, in milliseconds. */
const EVERY_MS = 1000

/** Returns the line that shows the words of an invitation. */
export const wordsLine = ({ words, to }: ContactWords): string => `${words}  for ${shown(to)}`

/** How the user must pass on the words. */
const SAY =
  'Say these words only in person or on a call that you placed. They are valid for one attempt and for 15 minutes.'

/** Returns the first contacts of these invitations if all have ended; null while one is open. */
async function endedOf(api: Api, ids: readonly string[]): Promise<FirstContact[] | null> {
  const { items } = await api.firstContacts.list({})
  const those = items.filter(({ invitation_id: id }) => ids.includes(id))
  return those.some(({ state }) => state === 'open') ? null : those
}

/**
 * Waits until all these first contacts have ended, and reports their results.
 *
 * Until then, a running daemon answers the other side, or this process does.
 * @returns the exit code
 */
export async function waitForContacts(
  { say }: Pick<Invocation, 'say'>,
  api: Api,
  ids: readonly string[],
): Promise<number> {
  for (;;) {
    const ended = await endedOf(api, ids)
    if (ended !== null) {
      for (const { with: other, name, message } of ended) {
        const who = name === null ? other : calledOf(name)
        say(ids.length > 1 ? `${shown(who)}: ${message ?? ''}` : (message ?? ''))
      }
      return ended.every(({ state }) => state === 'confirmed') ? EXIT.ok : EXIT.failed
    }
    await after(EVERY_MS)
  }
}

/**
 * Prints how to pass on the words, and waits for the other sides.
 *
 * With `--json` it does not wait, because a program reads the result from the list.
 * @returns the exit code
 */
export async function afterWords(
  { say, json }: Pick<Invocation, 'say' | 'json'>,
  api: Api,
  made: readonly ContactWords[],
): Promise<number> {
  if (json) return EXIT.ok
  say(
    `${SAY}\nWaiting for the other side. To stop waiting, press Ctrl-C. A running daemon continues to wait.`,
  )
  return waitForContacts(
    { say },
    api,
    made.map(({ invitation_id: id }) => id),
  )
}

/**
 * Asks for four words and runs a function with them.
 *
 * After a typing error at a terminal, which does not count as an attempt, it asks again.
 * @throws AppError `invalid_state` if no words are given, and the errors of `work`
 */
export async function withFourWords<T>(
  { io }: Pick<Invocation, 'io'>,
  prompt: Prompt,
  work: (words: string) => Promise<T>,
): Promise<T> {
  for (;;) {
    const words = await prompt.ask('Four words that the inviter says: ')
    if (words === null)
      throw new AppError(
        'invalid_state',
        'Nothing was approved, because the four words of the inviter were not given. Without a terminal, give them on standard input.',
      )
    try {
      return await work(words)
    } catch (error) {
      const isSlip =
        error instanceof AppError && (error.code === 'word_count' || error.code === 'unknown_word')
      if (!prompt.isTerminal || !isSlip) throw error
      io.stderr.write(`${error.message}\n`)
    }
  }
}
