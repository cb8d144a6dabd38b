import { MOST_INVITES } from '../../../api/rest/org.ts'
import { byId } from '../../by-id.ts'
import {
  createCommand,
  deleteCommand,
  itemAnswer,
  listCommand,
  updateCommand,
} from '../../collection.ts'
import type { Api, Command } from '../../command.ts'
import { eitherField, flagField, textField } from '../../option-fields.ts'
import { brief, inQuotes } from '../../../api/name-text.ts'

export const groupList = listCommand({
  help: 'Lists the groups of the current organisation, newest first, each with the number of its members.',
  work: (api, query) => api.orgGroups.list(query),
  heading: ['ID', 'NAME', 'MEMBERS', 'DESCRIPTION'],
  row: ({ id, name, member_count, description }) => [
    id,
    name,
    String(member_count),
    brief(description ?? ''),
  ],
})

const FIELDS = { name: textField('name'), description: textField('description') }

export const groupCreate = createCommand({
  usage: '--name NAME [--description TEXT] [--json]',
  help: `
Creates a group in the current organisation. Only owners and admins can do this.

  --name NAME          the name of the group
  --description TEXT   what the group is for`,
  examples: {
    'org group create --name Support': 'create a group',
  },
  fields: FIELDS,
  needed: ['name'],
  work: (api, body) => api.orgGroups.create({ body }),
  shows: itemAnswer,
})

export const groupUpdate = updateCommand({
  kind: 'group',
  usage: 'GROUP [--name NAME] [--description TEXT | --no-description] [--json]',
  help: `
Renames a group, or changes its description.

  --name NAME          the new name
  --description TEXT   the new description
  --no-description     remove the description`,
  fields: {
    ...FIELDS,
    description: eitherField(FIELDS.description, flagField('no-description', null)),
  },
  remedy: 'use --name, --description or --no-description.',
  work: (api, id, body) => api.orgGroups.update({ id, body }),
  shows: itemAnswer,
})

export const groupDelete = deleteCommand({
  kind: 'group',
  help: 'Deletes a group. Its members stay in the organisation.',
  work: (api, id) => api.orgGroups.delete({ id }),
})

const counted = (count: number) => `${count} member${count === 1 ? '' : 's'}`

type Change = Api['orgGroups']['addMembers']

const change = (help: string, changeOf: (api: Api) => Change): Command => ({
  usage: 'GROUP MEMBER… [--json]',
  help,
  args: [2, 1 + MOST_INVITES],
  takes: ['group'],
  takesMore: 'organisation member',
  async run({ args: [id = '', ...member_ids], withApi, print, say }) {
    const group = await withApi((api) =>
      byId('group', () => changeOf(api)({ id, body: { member_ids } })),
    )
    print(group, [])
    say(`${inQuotes(group.name)} has ${counted(group.member_count)}.`)
  },
})

export const groupAdd = change(
  `
Adds members of the organisation to a group. Accounts that are already in the group stay in it. If one of the ids is
not a member of the organisation, no member is added.`,
  (api) => api.orgGroups.addMembers,
)

export const groupRemove = change(
  `
Removes members from a group. They stay in the organisation. If one of the ids is not a member of the organisation, no
member is removed.`,
  (api) => api.orgGroups.removeMembers,
)
