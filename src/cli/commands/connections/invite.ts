import { calledOf, inQuotes } from '../../../api/name-text.ts'
import type { Connection } from '../../../api/rest/connections.ts'
import type { Invitation } from '../../../api/rest/invitations.ts'
import { AppError, EXIT } from '../../../errors.ts'
import { byId, ofAccount } from '../../by-id.ts'
import type { NamedKind } from '../../../api/naming/kinds.ts'
import type { Api, Command, Invocation } from '../../command.ts'
import { isActive, readShownConnection } from './connection.ts'
import { optionsOf, textField, valuesOf } from '../../option-fields.ts'
import {
  WORDS_OPTION,
  afterWords,
  waitForContacts,
  withFourWords,
  wordsLine,
  invitedOf,
  inviteeOf,
  inviterOf,
} from './first-contact.ts'
import { printLabelled } from '../../labels.ts'
import { withPrompt } from '../../prompt.ts'
import { TIMEOUT_HELP, WAIT_OPTIONS, patienceOf } from '../../wait.ts'
import { waitForInvited, waitForWords } from './waiting.ts'
import { shown, table } from '../../table.ts'
import { when } from '../../times.ts'

/** Returns whether the account or mailbox was already invited. If so, no new mail is sent. */
const isAmong = ({ members }: Connection, { to }: Invitation): boolean =>
  members.some(
    (member) =>
      !isActive(member) && (member.user_id ?? member.display_name) === (to.user_id ?? to.email),
  )

/** Returns the message about a new invitation. `before` is the connection before the invitation. */
function followsFrom(made: Invitation, before: Connection): string {
  if (made.state === 'approved')
    return 'This invitation is already approved. The daemon of this device adds the person within seconds; without a daemon, "countersignd sync" does.'
  const sent = isAmong(before, made) ? 'Already invited, so no new mail is sent. Valid' : 'Valid'
  return `${sent} until ${when(made.expires_at)}. When the invitation is approved, this device adds the person: within seconds if its daemon is connected, or else at its next sync.`
}

export const inviteCommand: Command = {
  usage: 'CONNECTION ADDRESS|PERSON [--words] [--wait [--timeout TIME]] [--json]',
  help: `
Invites a person to a connection, by e-mail address, by the name of a person you follow, or by the id of an account
(acc_…). A person who is invited by e-mail address can create the account later. Only owners can invite. The person gets one mail. The invitation is
valid for 14 days, unless the preset of the connection sets another period.

After the person has approved, this device adds them and encrypts the secret for their devices: within seconds if its
daemon is connected, or else at its next sync. The account server cannot add anyone by itself.

  --words          show four words. Say them in person or on a call that you placed. The command waits until the
                   words are typed ("countersignd invite approve --words"), at most 15 minutes. If you run the
                   command again, it shows new words
  --wait           wait until the person is a member and the words can be used, and show each step on the way
  --timeout TIME   ${TIMEOUT_HELP}`,
  examples: {
    'invite Family cleo@example.org': 'invite another person',
    'invite Bank bob@example.org --words': 'show four words that confirm the keys',
  },
  options: { ...WORDS_OPTION, ...WAIT_OPTIONS },
  args: [2, 2],
  takes: ['connection', ['address', 'person']],
  run(invocation) {
    const { args, options, withApi, say, json } = invocation
    const [id = '', whom = ''] = args
    const body = inviteeOf(whom)
    const patienceMs = patienceOf(invocation)
    return withApi(async (api, hasDaemon) => {
      // Read the connection first, so that a later `not_found` cannot refer to it.
      const before = await readShownConnection(api, id)
      const add = () => api.members.add({ id, body })
      const made = await ('user_id' in body ? ofAccount(add) : add())
      const words =
        options['words'] === true ? [await api.contactWords.create({ id: made.id })] : []
      const answer = { ...made, ...(words.length === 0 ? {} : { words: words[0] }) }
      if (patienceMs === null || !json)
        printLabelled(invocation, answer, {
          bare: [`${made.id}  ${shown(invitedOf(made))}`, ...words.map(wordsLine)],
          rows: [
            ['Invited', invitedOf(made)],
            ...words.map((one) => ['Words', wordsLine(one)] as const),
            ['Id', made.id],
          ],
        })
      if (patienceMs !== null)
        return waitForInvited(invocation, api, {
          connection: before,
          isMine: (one) => one.id === made.id,
          words,
          answer: (connection) => ({ ...answer, connection }),
          hasDaemon,
          patienceMs,
        })
      if (words.length > 0) return afterWords({ say, json }, api, words)
      say(followsFrom(made, before))
    })
  },
}

const lineOf = (invitation: Invitation): string[] => {
  const { id, direction, connection_name, state, expires_at } = invitation
  const who = direction === 'received' ? inviterOf(invitation) : invitedOf(invitation)
  return [
    id,
    direction === 'received' ? 'from' : 'to',
    who,
    connection_name,
    state,
    when(expires_at),
  ]
}

const FILTERS = { state: textField<Invitation['state']>('state') }

export const inviteList: Command = {
  usage: '[--state pending|approved|declined|withdrawn|expired] [--json]',
  help: `
Lists invitations, first those that you received, then those that you sent. Approved invitations stay in the list:
"countersignd connection members" shows whether the person is a member yet. The
device that invited a person adds them within seconds if it is connected, or else at its next sync.

  --state STATE   list only invitations in this state: pending, approved, declined, withdrawn or expired`,
  options: optionsOf(FILTERS),
  args: [0, 0],
  async run({ options, io, withApi, print }) {
    const both = await withApi((api) => api.invitations.list(valuesOf(FILTERS, options)))
    print(
      both,
      await table(
        ['ID', '', 'WHO', 'CONNECTION', 'STATE', 'EXPIRES'],
        [...both.received, ...both.sent].map(lineOf),
        io.stdout,
      ),
    )
  },
}

export const inviteContacts: Command = {
  usage: '[--json]',
  help: `
Lists the first contacts of this device. A first contact is an invitation in which each side confirms the other by
four words. It is made with --words ("countersignd invite" or "countersignd connection create"), and approved with
"countersignd invite approve --words". The list contains the open first contacts, and those that ended within the
last day.`,
  args: [0, 0],
  async run({ io, withApi, print }) {
    const { items } = await withApi((api) => api.firstContacts.list({}))
    print(
      { items },
      await table(
        ['INVITATION', 'WITH', 'STATE', 'EXPIRES', ''],
        items.map(({ invitation_id: id, with: other, name, state, expires_at, message }) => [
          id,
          name === null ? other : `${other} (${calledOf(name)})`,
          state,
          when(expires_at),
          message ?? '',
        ]),
        io.stdout,
      ),
    )
  },
}

/** The message for each state in which an invitation can no longer be answered. */
const OVER: Readonly<Record<string, string>> = {
  expired: 'This invitation has expired. Ask an owner of the connection to invite you again.',
  withdrawn: 'This invitation was withdrawn. Ask an owner of the connection to invite you again.',
  declined: 'You declined this invitation. Ask an owner of the connection to invite you again.',
}

/** For the inviter: the message for each state in which an invitation cannot be withdrawn. */
const OVER_SENT: typeof OVER = {
  expired: 'This invitation has expired, so it cannot be withdrawn.',
  declined: 'This invitation was declined, so it cannot be withdrawn.',
  approved:
    'This invitation was approved, so it cannot be withdrawn. To remove the member, use "countersignd connection remove-member".',
}

/** Runs an operation on an invitation, and gives its errors the command line's messages. */
async function answerOf(over: typeof OVER, work: () => Promise<Invitation>): Promise<Invitation> {
  try {
    return await byId('invitation', work)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const message = error.code === 'invalid_state' ? over[error.details.state ?? ''] : undefined
    if (message === undefined) throw error
    throw new AppError('invalid_state', message, { details: error.details, cause: error })
  }
}

const answer = (of: {
  help: string
  takes: NamedKind
  over: typeof OVER
  work: (api: Api, id: string) => Promise<Invitation>
  done: (invitation: Invitation, api: Api) => string | Promise<string>
}): Command => ({
  usage: 'INVITATION [--json]',
  help: of.help,
  args: [1, 1],
  takes: [of.takes],
  async run({ args: [id = ''], withApi, print, say }) {
    const { after, text } = await withApi(async (api) => {
      const answer = await answerOf(of.over, () => of.work(api, id))
      return { after: answer, text: await of.done(answer, api) }
    })
    print(after, [])
    say(text)
  },
})

const named = ({ connection_name }: Invitation) => inQuotes(connection_name)

/**
 * Returns whether the user is in the connection.
 *
 * The user's answer is already stored, so an error here must not suggest that it failed.
 */
const isIn = (api: Api, { connection_id: id }: Invitation): Promise<boolean> =>
  api.connections.read({ id }).then(
    () => true,
    () => false,
  )

const OVER_RECEIVED: typeof OVER = {
  ...OVER,
  approved:
    'This invitation was already used. You joined the connection with it, but are no longer a member. Ask an owner of the connection to invite you again.',
}

const approvedAs = async (invitation: Invitation, api: Api) =>
  (await isIn(api, invitation))
    ? `Approved ${named(invitation)}. You are already a member.`
    : `Approved ${named(invitation)}, to which ${shown(inviterOf(invitation))} invited you. The inviter’s device adds you within seconds if it is connected, or else at its next sync. After that, a daemon here gets the connection at once; without a daemon, "countersignd sync" fetches it.`

const approveAlone = answer({
  help: '',
  takes: 'invitation',
  over: OVER_RECEIVED,
  work: (api, id) => api.invitations.approve({ id }),
  done: approvedAs,
})

const approveAndWait = (invocation: Invocation, patienceMs: number): Promise<number> =>
  invocation.withApi(async (api, hasDaemon) => {
    const [id = ''] = invocation.args
    const approve = () => api.invitations.approve({ id })
    const approved = await answerOf(OVER_RECEIVED, approve)
    return waitForWords(invocation, api, { approved, hasDaemon, patienceMs })
  })

/**
 * Approves an invitation with the inviter's four words, and waits for the inviter's device.
 * @param patienceMs with `--wait`: how long to wait until there are words, otherwise null
 */
const approveByWords = (invocation: Invocation, patienceMs: number | null): Promise<number> =>
  withPrompt(invocation.io, (prompt) =>
    invocation.withApi(async (api, hasDaemon) => {
      const { args, print, say } = invocation
      const [id = ''] = args
      const answered = await withFourWords(invocation, prompt, (words) =>
        answerOf(OVER_RECEIVED, () => api.invitations.approve({ id, body: { words } })),
      )
      if (patienceMs === null) print(answered, [])
      if (answered.state === 'pending')
        say("Waiting for the inviter's device. To stop waiting, press Ctrl-C.")
      const code = await waitForContacts({ say }, api, [id])
      if (code !== EXIT.ok) return code
      if (patienceMs !== null)
        return waitForWords(invocation, api, { approved: answered, hasDaemon, patienceMs })
      say(await approvedAs(answered, api))
      return code
    }),
  )

export const inviteApprove: Command = {
  usage: 'INVITATION [--words] [--wait [--timeout TIME]] [--json]',
  help: `
Approves an invitation that you received. A device of the inviter then adds you, and your device fetches the
connection: each within seconds if it is connected, or else at its next sync.

  --words          ask for the four words that the inviter says (without a terminal: on standard input), and approve
                   only if they are right. Then both sides are confirmed, as if you had compared the safety number.
                   You have three attempts in 15 minutes. Each set of words is valid for one attempt
  --wait           wait until the words can be used on this device, and show each step on the way
  --timeout TIME   ${TIMEOUT_HELP}`,
  examples: {
    'invite approve ada@example.org --wait': 'join, and wait until the words can be used',
  },
  options: { ...WORDS_OPTION, ...WAIT_OPTIONS },
  args: [1, 1],
  takes: ['invitation'],
  run(invocation) {
    const patienceMs = patienceOf(invocation)
    if (invocation.options['words'] === true) return approveByWords(invocation, patienceMs)
    return patienceMs === null
      ? approveAlone.run(invocation)
      : approveAndWait(invocation, patienceMs)
  },
}

export const inviteDecline = answer({
  help: 'Declines an invitation that you received.',
  takes: 'invitation',
  over: {
    ...OVER,
    approved:
      'You approved this invitation, so it cannot be declined. To leave the connection, use "countersignd connection leave".',
  },
  work: (api, id) => api.invitations.decline({ id }),
  done: (invitation) => `Declined ${named(invitation)}.`,
})

export const inviteWithdraw = answer({
  help: 'Withdraws an invitation that you sent, unless it was already used to join the connection.',
  takes: 'sent invitation',
  over: OVER_SENT,
  work: (api, id) => api.invitations.withdraw({ id }),
  done: (invitation) => `Withdrew the invitation for ${shown(invitedOf(invitation))}.`,
})
