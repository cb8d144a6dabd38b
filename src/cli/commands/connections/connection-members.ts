import type { Connection, Member } from '../../../api/rest/connections.ts'
import { AppError } from '../../../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import { withPrompt } from '../../prompt.ts'
import { shown, table } from '../../table.ts'
import { isActive, nameOfMember, readShownConnection } from './connection.ts'

/** Returns the id of the account that is signed in. */
const ownId = async (api: Api): Promise<string> => (await api.context.read({})).user.id

/**
 * Returns a member of a connection by account id.
 * @throws AppError `not_found`
 */
function memberOf({ id, members }: Connection, mid: string): Member {
  const member = members.find((one) => one.id === mid)
  if (member !== undefined) return member
  throw new AppError(
    'not_found',
    `The connection has no member with this id. "countersignd connection members ${id}" shows them.`,
  )
}

export const connectionMembers: Command = {
  usage: 'ID [--json]',
  help: 'Lists who is in a connection, and who is invited to it.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print }) {
    const { own, members } = await withApi(async (api) => {
      const connection = await readShownConnection(api, id)
      return { own: await ownId(api), members: connection.members }
    })
    print(
      { items: members },
      await table(
        ['ID', 'NAME', 'ROLE', 'STATE'],
        members.map((member) => [
          member.id,
          member.id === own ? `${member.display_name} (you)` : nameOfMember(member),
          member.role,
          member.state,
        ]),
      ),
    )
  },
}

export const connectionRemoveMember: Command = {
  usage: 'CONNECTION MEMBER [--json]',
  help: `
Removes a member, by the id that "countersignd connection members" shows; owners may. This device makes a new secret for the other members. The words of the
removed member fail from then on, on every device that has synced. The member comes back only if an owner invites them again.

For an account (acc_…) or a mailbox (inv_…) that is only invited, the invitation is withdrawn.`,
  args: [2, 2],
  async run({ args: [id = '', mid = ''], withApi, print, say }) {
    const member = await withApi(async (api) => {
      const found = memberOf(await readShownConnection(api, id), mid)
      if ((await ownId(api)) === mid)
        throw new AppError('invalid_state', `That is you: "countersignd connection leave ${id}".`)
      await api.members.remove({ id, mid })
      return found
    })
    print({ connection_id: id, user_id: member.user_id, state: 'removed' }, [])
    const name = shown(member.display_name)
    say(
      isActive(member)
        ? `Removed ${name}. The other members get the new secret at their next sync.`
        : `Withdrew the invitation of ${name}.`,
    )
  },
}

export const connectionRole: Command = {
  usage: 'CONNECTION MEMBER owner|member [--json]',
  help: 'Makes a member an owner, or an owner a member. Owners invite, remove and do this; one has to stay.',
  args: [3, 3],
  async run({ args: [id = '', mid = '', role = ''], withApi, print, say }) {
    if (role !== 'owner' && role !== 'member')
      throw new UsageError('A role is owner or member; give one of them.')
    const changed = await withApi(async (api) => {
      memberOf(await readShownConnection(api, id), mid)
      return api.rosters.role({ id, mid, body: { role } })
    })
    print(changed, [])
    say(
      `${shown(memberOf(changed, mid).display_name)} is ${role === 'owner' ? 'an' : 'a'} ${role}.`,
    )
  },
}

/** A connection, and the id of the account that leaves or deletes it. */
interface Target {
  readonly connection: Connection
  readonly own: string
}

/** One of the two ways in which an account can end its connection: to leave it or to delete it. */
interface Way {
  readonly verb: 'leave' | 'delete'
  readonly state: 'left' | 'deleted'
  readonly warning: (target: Target) => string
  /** Returns why the user must take the other way; null if this way is possible. */
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
    'Its words are forgotten here, and only an owner brings you back. The others get a new secret, which you never see.',
  misfit: (target) => {
    const { id, state } = target.connection
    if (state === 'ended')
      return `An owner ended it for all members: "countersignd connection delete ${id}" takes it off your list.`
    return othersIn(target).length > 0
      ? null
      : `It has no other members: "countersignd connection delete ${id}" ends it for good.`
  },
  carryOut: (api, { connection: { id }, own }) => api.members.remove({ id, mid: own }),
}

const DELETE: Way = {
  verb: 'delete',
  state: 'deleted',
  warning: (target) => {
    if (!endsForOthers(target)) return 'It is gone for good, with the invitations to it.'
    const count = othersIn(target).length
    return `You are its only owner: it ends for good, also for ${count === 1 ? 'the other member' : `the ${count} other members`}.`
  },
  misfit: (target) => {
    const { id, state } = target.connection
    const fits = state === 'ended' || othersIn(target).length === 0 || endsForOthers(target)
    return fits
      ? null
      : `Others are in it, and you are not its only owner: "countersignd connection leave ${id}" leaves it to them.`
  },
  carryOut: (api, { connection: { id } }) => api.connections.delete({ id }),
}

/**
 * Asks the user to confirm the operation.
 * @throws AppError if the user declines, or if there is no terminal
 */
const confirm = ({ io }: Invocation, { verb, warning }: Way, target: Target): Promise<void> =>
  withPrompt(io, async (prompt) => {
    if (!prompt.isTerminal)
      throw new AppError(
        'invalid_state',
        `Nothing was done: without a terminal, confirm with --yes that you mean to ${verb} it.`,
      )
    io.stderr.write(`You ${verb} "${shown(target.connection.name)}". ${warning(target)}\n`)
    const typed = await prompt.ask(`Type "${verb}" to go on: `)
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
Leaves a connection to its other members, who get a new secret at their next sync. The only owner makes another member one first
("countersignd connection role"), or ends it for all ("countersignd connection delete").

  --yes   do not ask for confirmation`,
)

export const connectionDelete = ending(
  DELETE,
  `
Deletes a connection for good, with the invitations to it: one without other members, one that was ended, or one with you as its only
owner. The last ends it for all: its words prove nothing from each member's next sync on, and each member gets a notification.

  --yes   do not ask for confirmation`,
)
