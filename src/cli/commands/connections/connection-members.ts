import type { Connection, Member } from '../../../api/rest/connections.ts'
import { AppError } from '../../../errors.ts'
import { type Api, type Command, UsageError } from '../../command.ts'
import { isActive, nameOfMember, readShownConnection } from './connection.ts'
import { shown, table } from '../../table.ts'

/** Returns the id of the signed-in account. */
export const ownId = async (api: Api): Promise<string> => (await api.context.read({})).user.id

/**
 * Returns a member of a connection by account id.
 * @throws AppError not_found
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
  usage: 'ID [--json]',
  help: 'Lists the members of a connection, and the people who are invited to it.',
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
Removes a member, by the id that "countersignd connection members" shows. Only owners can do this. This device
creates a new secret for the other members. The words of the removed member no longer verify on any device that has
synced. The removed member can only return if an owner invites them again.

If the id is that of an invited account (acc_…) or an invited e-mail address (inv_…), the invitation is withdrawn.`,
  args: [2, 2],
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
        ? `Removed ${name}. The other members get the new secret at their next sync.`
        : `Withdrew the invitation of ${name}.`,
    )
  },
}

export const connectionRole: Command = {
  usage: 'CONNECTION MEMBER owner|member [--json]',
  help: `
Makes a member an owner, or an owner a member. Only owners can do this, and only owners can invite and remove members.
At least one owner must remain.`,
  args: [3, 3],
  async run({ args: [id = '', mid = '', role = ''], withApi, print, say }) {
    if (role !== 'owner' && role !== 'member')
      throw new UsageError('The role must be owner or member.')
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
