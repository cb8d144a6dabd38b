import { inQuotes } from '../../../api/name-text.ts'
import type { Connection, Member } from '../../../api/rest/connections.ts'
import { AppError } from '../../../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import { withPrompt } from '../../prompt.ts'
import { shown, table } from '../../table.ts'
import { isActive, readShownConnection } from './connection.ts'
import { addressOf, fullNameOf, knownPeople } from './people.ts'

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
    `The connection has no member with this id. "countersignd connection members ${id}" shows the ids.`,
  )
}

export const connectionMembers: Command = {
  usage: 'CONNECTION [--json]',
  help: 'Lists the members of a connection, and the people who are invited to it.',
  args: [1, 1],
  takes: ['connection'],
  async run({ args: [id = ''], io, withApi, print }) {
    const { own, members, people } = await withApi(async (api) => {
      const connection = await readShownConnection(api, id)
      const known = await knownPeople(api)
      return { own: await ownId(api), members: connection.members, people: known }
    })
    print(
      { items: members },
      await table(
        ['ID', 'NAME', 'ADDRESS', 'ROLE', 'STATE'],
        members.map((member) => [
          member.id,
          member.id === own ? `${member.display_name} (you)` : fullNameOf(member, people),
          addressOf(member, people) ?? '',
          member.role,
          member.state,
        ]),
        io.stdout,
      ),
    )
  },
}

export const connectionRemoveMember: Command = {
  usage: 'CONNECTION MEMBER [--json]',
  help: `
Removes a member ("countersignd connection members"). Only owners can do this. This device
creates a new secret for the other members. The words of the removed member no longer verify on any device that has
synced. The removed member can only return if an owner invites them again.

If the member is an invited account or an invited e-mail address, the invitation is withdrawn.`,
  args: [2, 2],
  takes: ['connection', 'member'],
  async run({ args: [id = '', mid = ''], withApi, print, say }) {
    const member = await withApi(async (api) => {
      const found = memberOf(await readShownConnection(api, id), mid)
      if ((await ownId(api)) === mid)
        throw new AppError(
          'invalid_state',
          `This is your own id. To leave the connection, run "countersignd connection leave ${id}".`,
        )
      await api.members.remove({ id, mid })
      return found
    })
    print({ connection_id: id, user_id: member.user_id, state: 'removed' }, [])
    const name = shown(member.display_name)
    say(
      isActive(member)
        ? `Removed ${name}. The other members get the new secret within seconds if their devices are connected, or else at their next sync.`
        : `Withdrew the invitation of ${name}.`,
    )
  },
}

/**
 * Parses a role.
 * @throws UsageError
 */
function roleOf(text: string | undefined): Member['role'] {
  if (text === 'owner' || text === 'member') return text
  throw new UsageError('The role must be owner or member.')
}

export const connectionRole: Command = {
  usage: 'CONNECTION MEMBER owner|member [--json]',
  help: `
Changes the role of a person in a connection to owner or to member. Only owners can change roles, invite people and
remove members. The connection must keep at least one owner.`,
  args: [3, 3],
  takes: ['connection', 'member', null],
  check: ({ args: [, , role] }) => void roleOf(role),
  async run({ args: [id = '', mid = '', given], withApi, print, say }) {
    const role = roleOf(given)
    const changed = await withApi(async (api) => {
      memberOf(await readShownConnection(api, id), mid)
      return api.members.role({ id, mid, body: { role } })
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
    'The secret of the connection is deleted on this device, and the other members get a new secret. You can only return if an owner invites you again.',
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
    return `You are the only owner of the connection, so it ends permanently for you and for ${count === 1 ? 'the other member' : `the ${count} other members`}.`
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
 * Asks the user to confirm the operation.
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
      `You are about to ${verb} ${inQuotes(target.connection.name)}. ${warning(target)}\n`,
    )
    const typed = await prompt.ask(`Type "${verb}" to continue: `)
    if (typed !== verb) throw new AppError('invalid_state', 'Nothing was done.')
  })

const ending = (way: Way, help: string): Command => ({
  usage: 'CONNECTION [--yes] [--json]',
  help,
  options: { yes: { type: 'boolean' } },
  args: [1, 1],
  takes: ['connection'],
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
    say(`${way.verb === 'leave' ? 'Left' : 'Deleted'} ${inQuotes(target.connection.name)}.`)
  },
})

export const connectionLeave = ending(
  LEAVE,
  `
Leaves a connection. The connection continues for the other members, who get a new secret within seconds if their
devices are connected, or else at their next sync. If you are the only owner, first make another member an owner
("countersignd connection role"), or end the connection for all members ("countersignd connection delete").

  --yes   do not ask for confirmation`,
)

export const connectionDelete = ending(
  DELETE,
  `
Permanently deletes a connection and the invitations to it. You can delete a connection that has no other members,
that was ended, or of which you are the only owner. If you are the only owner, the connection ends for all members:
each member gets a notification, and the words of the connection no longer verify on any device that has synced.

  --yes   do not ask for confirmation`,
)
