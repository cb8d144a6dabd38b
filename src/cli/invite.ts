import type { Invitation } from '../api/rest/invitations.ts'
import { AppError } from '../errors.ts'
import { byId } from './by-id.ts'
import type { Api, Command } from './command.ts'
import { invitedOf, inviteeOf, inviterOf } from './invitee.ts'
import { shown, table } from './table.ts'

export const inviteCommand: Command = {
  usage: 'CONNECTION ADDRESS|ACCOUNT [--json]',
  help: `
Invites somebody to a connection, by mailbox, which needs no account yet, or by the id of an account (acc_…). Owners may. A mail
says so; the invitation is good for 14 days.

Once they approve, this device takes them in at its next sync and seals the secret to their devices. The account server alone can
take in nobody.`,
  args: [2, 2],
  async run({ args: [id = '', whom = ''], withApi, print, say }) {
    const body = inviteeOf(whom)
    const made = await withApi((api) => byId('connection', id, () => api.members.add({ id, body })))
    print(made, `${made.id}  ${shown(invitedOf(made))}`)
    say(
      made.state === 'approved'
        ? 'Approved already: this device takes them in at its next sync ("countersignd sync").'
        : `Good until ${made.expires_at}. Once it is approved, this device takes them in at its next sync.`,
    )
  },
}

const lineOf = (invitation: Invitation): string[] => {
  const { id, direction, connection_name, state, expires_at } = invitation
  const who = direction === 'received' ? inviterOf(invitation) : invitedOf(invitation)
  return [id, direction === 'received' ? 'from' : 'to', who, connection_name, state, expires_at]
}

export const inviteList: Command = {
  usage: '[--json]',
  help: 'Lists invitations, those that you got first. A sent one that is approved waits for a sync of this device.',
  args: [0, 0],
  async run({ withApi, print }) {
    const both = await withApi((api) => api.invitations.list({}))
    print(
      both,
      table(
        ['ID', '', 'WHO', 'CONNECTION', 'STATE', 'EXPIRES'],
        [...both.received, ...both.sent].map(lineOf),
      ),
    )
  },
}

/** Why an invitation takes no answer any more, by its state. */
const OVER: Readonly<Record<string, string>> = {
  expired: 'This invitation has expired: have an owner of the connection invite you again.',
  withdrawn: 'This invitation was withdrawn by the one who sent it.',
  declined: 'You declined this invitation: have an owner of the connection invite you again.',
  approved: 'You approved this invitation: "countersignd connection leave" takes you out again.',
}

/** The same for the one who sent it. */
const OVER_SENT: typeof OVER = {
  expired: 'This invitation has expired: there is nothing to withdraw.',
  declined: 'This invitation was declined: there is nothing to withdraw.',
  approved:
    'This invitation was approved: "countersignd connection remove-member" takes the member out again.',
}

/** Do something with an invitation; what is refused is said in words of the command line. */
async function answered(
  id: string,
  over: typeof OVER,
  work: () => Promise<Invitation>,
): Promise<Invitation> {
  try {
    return await byId('invitation', id, work)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const told = error.code === 'invalid_state' ? over[error.details.state ?? ''] : undefined
    if (told === undefined) throw error
    throw new AppError('invalid_state', told, { details: error.details, cause: error })
  }
}

const answer = (of: {
  help: string
  over: typeof OVER
  work: (api: Api, id: string) => Promise<Invitation>
  done: (invitation: Invitation) => string
}): Command => ({
  usage: 'ID [--json]',
  help: of.help,
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    const after = await withApi((api) => answered(id, of.over, () => of.work(api, id)))
    print(after, [])
    say(of.done(after))
  },
})

const named = ({ connection_name }: Invitation) => `"${shown(connection_name)}"`

export const inviteApprove = answer({
  help: `
Approves an invitation that you got. Nothing is shared by that yet: a device of the one who invited you takes you in at its next
sync, and yours fetches the connection at its next one after that.`,
  over: OVER,
  work: (api, id) => api.invitations.approve({ id }),
  done: (invitation) =>
    `Approved ${named(invitation)}. A device of ${shown(inviterOf(invitation))} takes you in at its next sync; "countersignd sync" brings the connection here after that.`,
})

export const inviteDecline = answer({
  help: 'Declines an invitation that you got.',
  over: OVER,
  work: (api, id) => api.invitations.decline({ id }),
  done: (invitation) => `Declined ${named(invitation)}.`,
})

export const inviteWithdraw = answer({
  help: 'Withdraws an invitation that you sent and that is not approved yet.',
  over: OVER_SENT,
  work: (api, id) => api.invitations.withdraw({ id }),
  done: (invitation) => `Withdrew the invitation of ${shown(invitedOf(invitation))}.`,
})
