import { every } from '../../../api/cursor.ts'
import { MOST_INVITES, type OrgGroup } from '../../../api/rest/org.ts'
import { byId } from '../../by-id.ts'
import { type Api, type Command, type Invocation, UsageError } from '../../command.ts'
import { brief, shown, table } from '../../table.ts'

const lineOf = ({ id, name }: Pick<OrgGroup, 'id' | 'name'>) => `${id}  ${shown(name)}`

const counted = (count: number) => `${count} member${count === 1 ? '' : 's'}`

export const groupList: Command = {
  usage: '[--json]',
  help: 'Lists the groups of the organisation that this device acts in, newest first, and how many members each has.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.orgGroups.list(query)))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'MEMBERS', 'DESCRIPTION'],
        items.map(({ id, name, member_count, description }) => [
          id,
          name,
          String(member_count),
          brief(description ?? ''),
        ]),
      ),
    )
  },
}

/**
 * Returns the fields that the options change; a field without an option is absent.
 * @throws UsageError if --description and --no-description are both given
 */
function changesOf(options: Invocation['options']) {
  const { name, description } = options
  const none = options['no-description'] === true
  if (description !== undefined && none)
    throw new UsageError('Give either --description or --no-description, not both.')
  return {
    ...(name === undefined ? {} : { name: String(name) }),
    ...(description === undefined ? {} : { description: String(description) }),
    ...(none ? { description: null } : {}),
  }
}

export const groupCreate: Command = {
  usage: '--name NAME [--description TEXT] [--json]',
  help: 'Creates a group in the organisation that this device acts in. Owners and admins may.',
  options: { name: { type: 'string' }, description: { type: 'string' } },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const { name, ...more } = changesOf(options)
    if (name === undefined) throw new UsageError('--name is missing: the name of the group.')
    const made = await withApi((api) => api.orgGroups.create({ body: { name, ...more } }))
    print(made, lineOf(made))
  },
}

export const groupUpdate: Command = {
  usage: 'ID [--name NAME] [--description TEXT | --no-description] [--json]',
  help: 'Renames a group, or changes its description.',
  options: {
    name: { type: 'string' },
    description: { type: 'string' },
    'no-description': { type: 'boolean' },
  },
  args: [1, 1],
  async run({ args: [id = ''], options, withApi, print }) {
    const body = changesOf(options)
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'Nothing to change was given: use --name, --description or --no-description.',
      )
    const group = await withApi((api) =>
      byId('group', id, () => api.orgGroups.update({ id, body })),
    )
    print(group, lineOf(group))
  },
}

export const groupDelete: Command = {
  usage: 'ID [--json]',
  help: 'Deletes a group. Its members stay in the organisation.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await withApi((api) => byId('group', id, () => api.orgGroups.delete({ id })))
    print({ id, state: 'deleted' }, [])
    say(`Deleted ${id}.`)
  },
}

type Change = Api['orgGroups']['addMembers']

const change = (help: string, changeOf: (api: Api) => Change): Command => ({
  usage: 'ID MEMBER… [--json]',
  help,
  args: [2, 1 + MOST_INVITES],
  async run({ args: [id = '', ...member_ids], withApi, print, say }) {
    const group = await withApi((api) =>
      byId('group', id, () => changeOf(api)({ id, body: { member_ids } })),
    )
    print(group, [])
    say(`"${shown(group.name)}" has ${counted(group.member_count)}.`)
  },
})

export const groupAdd = change(
  `
Adds members of the organisation to a group, by the ids of their accounts (acc_…). Members already in it stay. If one id is not a member
of the organisation, none is added.`,
  (api) => api.orgGroups.addMembers,
)

export const groupRemove = change(
  `
Removes members from a group, by the ids of their accounts (acc_…); they stay in the organisation. If one id is not a member of the
organisation, none is removed.`,
  (api) => api.orgGroups.removeMembers,
)
