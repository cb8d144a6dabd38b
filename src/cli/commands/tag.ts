import { inQuotes } from '../../api/name-text.ts'
import {
  createCommand,
  deleteCommand,
  itemAnswer,
  listCommand,
  updateCommand,
} from '../collection.ts'
import type { Command } from '../command.ts'
import { eitherField, flagField, textField } from '../option-fields.ts'

export const tagList = listCommand({
  help: 'Lists your tags, newest first, each with the number of your connections that have it.',
  work: (api, query) => api.tags.list(query),
  heading: ['ID', 'NAME', 'COLOR', 'CONNECTIONS'],
  row: ({ id, name, color, connection_count }) => [id, name, color ?? '', String(connection_count)],
})

const FIELDS = {
  name: textField('name'),
  color: textField('color', (text) => text.toLowerCase()),
}

export const tagCreate = createCommand({
  usage: '--name NAME [--color "#rrggbb"] [--json]',
  help: `
Creates a tag, for sorting your connections. Other members of a connection do not see your tags.

  --name NAME       the name of the tag
  --color #rrggbb   its colour, in quotes`,
  examples: {
    'tag create --name Work --color "#0066cc"': 'create a blue tag',
  },
  fields: FIELDS,
  needed: ['name'],
  work: (api, body) => api.tags.create({ body }),
  shows: itemAnswer,
})

export const tagUpdate = updateCommand({
  kind: 'tag',
  usage: 'TAG [--name NAME] [--color "#rrggbb" | --no-color] [--json]',
  help: `
Renames a tag, or changes its colour.

  --name NAME       the new name
  --color #rrggbb   the new colour, in quotes
  --no-color        remove the colour`,
  fields: { ...FIELDS, color: eitherField(FIELDS.color, flagField('no-color', null)) },
  remedy: 'use --name, --color or --no-color.',
  work: (api, id, body) => api.tags.update({ id, body }),
  shows: itemAnswer,
})

export const tagDelete = deleteCommand({
  kind: 'tag',
  help: 'Deletes a tag. The connections that have the tag are kept.',
  work: (api, id) => api.tags.delete({ id }),
})

export const tagAssign: Command = {
  usage: 'TAG CONNECTION [--json]',
  help: 'Adds a tag to a connection. If the connection already has the tag, nothing changes.',
  args: [2, 2],
  takes: ['tag', 'connection'],
  async run({ args: [id = '', cid = ''], called, withApi, print, say }) {
    const connection = await withApi((api) => api.tags.assign({ id, cid }))
    print(connection, [])
    say(`${inQuotes(connection.name)} has the tag ${called(id)}.`)
  },
}

export const tagUnassign: Command = {
  usage: 'TAG CONNECTION [--json]',
  help: 'Removes a tag from a connection.',
  args: [2, 2],
  takes: ['tag', 'connection'],
  async run({ args: [id = '', cid = ''], called, withApi, print, say }) {
    await withApi((api) => api.tags.unassign({ id, cid }))
    print({ id, connection_id: cid, state: 'unassigned' }, [])
    say(`${called(cid)} no longer has the tag ${called(id)}.`)
  },
}
