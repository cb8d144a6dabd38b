import type { Connection } from '../../../api/rest/connections.ts'
import { AppError } from '../../../errors.ts'
import type { Api, Command, Invocation } from '../../command.ts'
import { ownId } from './connection-members.ts'
import { isActive, readShownConnection } from './connection.ts'
import { withPrompt } from '../../prompt.ts'
import { shown } from '../../table.ts'

/** A connection, and the id of the account that leaves or deletes it. */
interface Target {
  readonly connection: Connection
  readonly own: string
}

/** One of the two ways in which an account ends a connection. */
interface Way {
  readonly verb: 'leave' | 'delete'
  readonly state: 'left' | 'deleted'
  readonly warning: (target: Target) => string
  /** Returns why the other way applies; null if this one does. */
  readonly misfit: (target: Target) => string | null
  readonly carryOut: (api: Api, target: Target) => Promise<void>
}

const othersIn = ({ connection: { members }, own }: Target) =>
  members.filter((member) => isActive(member) && member.user_id !== own)

/** Returns whether deletion ends the connection for other members too. */
const endsForOthers = (target: Target) => {
  const { connection, own } = target
  const others = othersIn(target)
  const isOwner = connection.members.some(
    ({ user_id, role }) => user_id === own && role === 'owner',
  )
  return (
    connection.state === 'active' &&
    others.length > 0 &&
    isOwner &&
    others.every(({ role }) => role !== 'owner')
  )
}

const LEAVE: Way = {
  verb: 'leave',
  state: 'left',
  warning: () =>
    'Its secret is deleted here, and the other members get a new secret. You can only return if an owner invites you again.',
  misfit: (target) => {
    const { id, state } = target.connection
    if (state === 'ended')
      return `An owner ended this connection for all members. To remove it from your list, run "countersignd connection delete ${id}".`
    return othersIn(target).length > 0
      ? null
      : `This connection has no other members. To delete it permanently, run "countersignd connection delete ${id}".`
  },
  carryOut: (api, { connection: { id }, own }) => api.members.remove({ id, mid: own }),
}

const DELETE: Way = {
  verb: 'delete',
  state: 'deleted',
  warning: (target) => {
    if (!endsForOthers(target))
      return 'The connection and the invitations to it are deleted permanently.'
    const count = othersIn(target).length
    return `You are its only owner, so it ends permanently for you and for ${count === 1 ? 'the other member' : `the ${count} other members`}.`
  },
  misfit: (target) => {
    const { id, state } = target.connection
    const fits = state === 'ended' || othersIn(target).length === 0 || endsForOthers(target)
    return fits
      ? null
      : `You cannot delete this connection, because it has other members and you are not its only owner. To leave it, run "countersignd connection leave ${id}".`
  },
  carryOut: (api, { connection: { id } }) => api.connections.delete({ id }),
}

/**
 * Asks the user to confirm.
 * @throws AppError if the user declines, or if there is no terminal
 */
const confirm = ({ io }: Invocation, { verb, warning }: Way, target: Target): Promise<void> =>
  withPrompt(io, async (prompt) => {
    if (!prompt.isTerminal)
      throw new AppError(
        'invalid_state',
        `Nothing was done. To ${verb} the connection without a terminal, add --yes.`,
      )
    io.stderr.write(
      `You are about to ${verb} "${shown(target.connection.name)}". ${warning(target)}\n`,
    )
    const typed = await prompt.ask(`Type "${verb}" to continue: `)
    if (typed !== verb) throw new AppError('invalid_state', 'Nothing was done.')
  })

const ending = (way: Way, help: string): Command => ({
  usage: 'ID [--yes] [--json]',
  help,
  options: { yes: { type: 'boolean' } },
  args: [1, 1],
  async run(invocation) {
    const { args, options, withApi, print, say } = invocation
    const [id = ''] = args
    const target = await withApi(async (api) => ({
      connection: await readShownConnection(api, id),
      own: await ownId(api),
    }))
    const misfit = way.misfit(target)
    if (misfit !== null) throw new AppError('invalid_state', misfit)
    if (options['yes'] !== true) await confirm(invocation, way, target)
    await withApi((api) => way.carryOut(api, target))
    print({ id, state: way.state }, [])
    say(`${way.verb === 'leave' ? 'Left' : 'Deleted'} "${shown(target.connection.name)}".`)
  },
})

export const connectionLeave = ending(
  LEAVE,
  `
Leaves a connection. It continues for the other members, who get a new secret at their next sync. If you are the
only owner, first make another member an owner ("countersignd connection role"), or end the connection for all
members ("countersignd connection delete").

  --yes   do not ask for confirmation`,
)

export const connectionDelete = ending(
  DELETE,
  `
Permanently deletes a connection and the invitations to it. You can delete a connection that has no other members,
that was ended, or of which you are the only owner. In the last case, the connection ends for all members: each
member gets a notification, and from their next sync on, its words no longer verify.

  --yes   do not ask for confirmation`,
)
