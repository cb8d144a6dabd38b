/** What `--wait` shows for an invitation: how far it is on the way to words that can be used. */
import { inQuotes } from '../../../api/name-text.ts'
import type { Connection } from '../../../api/rest/connections.ts'
import type { Invitation, Party } from '../../../api/rest/invitations.ts'
import type { ContactWords } from '../../../api/rest/first-contacts.ts'
import { AppError, EXIT } from '../../../errors.ts'
import type { Api, Invocation } from '../../command.ts'
import { type Look, type WaitTerms, waitUntilUsable } from '../../wait.ts'
import { afterWords, wordsLine } from './first-contact.ts'

const NO_MORE: Readonly<Record<string, string>> = {
  declined: 'declined the invitation.',
  withdrawn: 'cannot join, because the invitation was withdrawn.',
  expired: 'cannot join, because the invitation has expired. Invite them again.',
}

const OVER_RECEIVED: Readonly<Record<string, string>> = {
  declined: 'This invitation was declined on another device.',
  withdrawn: 'The invitation was withdrawn. Ask an owner of the connection to invite you again.',
  expired:
    'The invitation has expired before you were added. Ask an owner of the connection to invite you again.',
}

/** States of a connection in which no words can be used any more. */
const ENDED: readonly unknown[] = ['ended', 'roster_forked']

/** Returns a name that stays the same while a command waits. */
const labelOf = ({ email, user_id }: Party): string => email ?? user_id ?? ''

const refused = (refusal: string, steps: readonly string[] = []): Look => ({
  steps,
  usable: null,
  refusal,
})

/** Returns a connection, or null if the account does not have it. */
async function connectionOrNull(api: Api, id: string): Promise<Connection | null> {
  try {
    return await api.connections.read({ id })
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null
    throw error
  }
}

/** Looks whether this device has words for a connection. */
async function lookAtWords(api: Api, id: string, steps: readonly string[]): Promise<Look> {
  try {
    await api.connections.code({ id })
    return { steps, usable: `The words can be used: "countersignd code ${id}".`, refusal: null }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, details } = error
    if (ENDED.includes(details.state)) return refused(message, steps)
    // A person may have to act, and the message names who.
    if (code === 'invalid_state') return { steps: [...steps, message], usable: null, refusal: null }
    if (code === 'secret_unavailable' || code === 'not_found')
      return { steps, usable: null, refusal: null }
    throw error
  }
}

interface InvitationWait {
  readonly look: () => Promise<Look>
  /** The newest connection that a look has read; null if there is none yet. */
  readonly connection: () => Connection | null
}

/** For the invited side: after the approval, until this device has words. */
function waitAsInvited(
  api: Api,
  { id, connection_id, connection_name, from }: Invitation,
): InvitationWait {
  let seen: Connection | null = null

  async function beforeJoining(): Promise<Look> {
    const { received } = await api.invitations.list({})
    const over = OVER_RECEIVED[received.find((one) => one.id === id)?.state ?? '']
    if (over !== undefined) return refused(over)
    const approved = `You approved the invitation to "${connection_name}".`
    return {
      steps: [`${approved} A device of ${labelOf(from)} has to add you.`],
      usable: null,
      refusal: null,
    }
  }

  return {
    connection: () => seen,
    async look() {
      const connection = await connectionOrNull(api, connection_id)
      if (connection === null)
        return seen === null
          ? beforeJoining()
          : refused(`You are not a member of "${connection_name}" any more.`)
      seen = connection
      const steps = [`You are a member of "${connection_name}".`]
      if (connection.state === 'ended')
        return refused(`An owner ended "${connection_name}" for all members.`, steps)
      if (!connection.secret_here) return { steps, usable: null, refusal: null }
      return lookAtWords(api, connection_id, [...steps, 'This device has the secret.'])
    },
  }
}

/** Where one invited person is on the way to being a member. */
interface Progress {
  readonly steps: readonly string[]
  /** Null while it is open. */
  readonly isMember: boolean | null
}

function progressOf(invitation: Invitation, { members }: Connection): Progress {
  const { state, to } = invitation
  const who = labelOf(to)
  const sent = `The invitation for ${who} was sent.`
  const member = members.find((one) => one.user_id === to.user_id && to.user_id !== null)
  if (member?.state === 'active') {
    // One request contains the entry of the new member and the secret for each of their devices.
    const steps = [
      sent,
      `${who} approved the invitation.`,
      `${who} is a member.`,
      `The secret is sealed to the devices of ${who}.`,
    ]
    return { steps, isMember: true }
  }
  if (state === 'approved')
    return { steps: [sent, `${who} approved the invitation.`], isMember: null }
  const over = NO_MORE[state]
  return over === undefined
    ? { steps: [sent], isMember: null }
    : { steps: [sent, `${who} ${over}`], isMember: false }
}

/**
 * For the inviting side: until the invited people are members, and this device has words.
 * @param isMine returns whether an invitation is one of those to wait for
 */
function waitAsInviter(
  api: Api,
  of: { connection: Connection; isMine: (invitation: Invitation) => boolean },
): InvitationWait {
  const { id, name } = of.connection
  let seen = of.connection
  const known = new Map<string, Invitation>()

  return {
    connection: () => seen,
    async look() {
      const connection = await connectionOrNull(api, id)
      if (connection === null) return refused(`You are not a member of ${inQuotes(name)} any more.`)
      seen = connection
      if (connection.state === 'ended')
        return refused(`${inQuotes(name)} was ended for all members.`)
      const { sent } = await api.invitations.list({})
      for (const one of sent) if (one.connection_id === id && of.isMine(one)) known.set(one.id, one)
      const all = [...known.values()].map((one) => progressOf(one, connection))
      const steps = all.flatMap((one) => one.steps)
      if (all.length === 0 || all.some((one) => one.isMember === null))
        return { steps, usable: null, refusal: null }
      if (all.every((one) => one.isMember === true)) return lookAtWords(api, id, steps)
      const missing = all.filter((one) => one.isMember === false).map((one) => one.steps.at(-1)!)
      return refused(
        missing.join(' '),
        steps.filter((step) => !missing.includes(step)),
      )
    },
  }
}

/**
 * Waits until this device has words for the connection of an approved invitation.
 * @returns the exit code
 * @throws as `waitUntilUsable` does
 */
export function waitForWords(
  invocation: Invocation,
  api: Api,
  { approved, ...terms }: WaitTerms & { approved: Invitation },
): Promise<number> {
  const { look, connection } = waitAsInvited(api, approved)
  return waitUntilUsable(invocation, api, {
    ...terms,
    look,
    later: `connection show ${approved.connection_id}`,
    answer: () => ({ ...approved, connection: connection() }),
  })
}

/**
 * Waits for first contacts by words, if there are any, and then until the invited people are
 * members and this device has words.
 * @param of `isMine` returns whether an invitation is one of those to wait for; `answer` returns
 *   the answer for `--json`
 * @returns the exit code
 * @throws as `waitUntilUsable` does
 */
export async function waitForInvited(
  invocation: Invocation,
  api: Api,
  of: WaitTerms & {
    connection: Connection
    isMine: (invitation: Invitation) => boolean
    words: readonly ContactWords[]
    answer: (connection: Connection) => object
  },
): Promise<number> {
  const { io, json, say } = invocation
  const { words, answer, ...more } = of
  if (words.length > 0) {
    // The JSON is the last output, and the words are needed before.
    if (json) io.stderr.write(words.map((one) => `${wordsLine(one)}\n`).join(''))
    const code = await afterWords({ say, json: false }, api, words)
    if (code !== EXIT.ok) return code
  }
  const { look, connection } = waitAsInviter(api, more)
  return waitUntilUsable(invocation, api, {
    ...more,
    look,
    later: `connection show ${more.connection.id}`,
    answer: () => answer(connection() ?? more.connection),
  })
}
