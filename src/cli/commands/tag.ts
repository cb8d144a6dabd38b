import { every } from '../../api/cursor.ts'
import type { Tag } from '../../api/rest/tags.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { byId, noSuch } from '../by-id.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { shown, table } from '../table.ts'

const lineOf = ({ id, name }: Pick<Tag, 'id' | 'name'>) => `${id}  ${shown(name)}`

export const tagList: Command = {
  usage: '[--json]',
  help: 'Lists your tags, newest first, and how many of your connections have each.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.tags.list(query)))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'COLOR', 'CONNECTIONS'],
        items.map(({ id, name, color, connection_count }) => [
          id,
          name,
          color ?? '',
          String(connection_count),
        ]),
      ),
    )
  },
}

/**
 * Returns the fields that the options change; a field without an option is absent.
 * @throws UsageError if --color and --no-color are both given
 */
function changesOf(options: Invocation['options']) {
  const { name, color } = options
  const none = options['no-color'] === true
  if (color !== undefined && none)
    throw new UsageError('Give either --color or --no-color, not both.')
  return {
    ...(name === undefined ? {} : { name: String(name) }),
    ...(color === undefined ? {} : { color: String(color).toLowerCase() }),
    ...(none ? { color: null } : {}),
  }
}

export const tagCreate: Command = {
  usage: '--name NAME [--color "#rrggbb"] [--json]',
  help: 'Creates a tag, to sort connections by. Other members of a connection do not see your tags.',
  options: { name: { type: 'string' }, color: { type: 'string' } },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const { name, ...more } = changesOf(options)
    if (name === undefined) throw new UsageError('--name is missing: the name of the tag.')
    const made = await withApi((api) => api.tags.create({ body: { name, ...more } }))
    print(made, lineOf(made))
  },
}

export const tagUpdate: Command = {
  usage: 'ID [--name NAME] [--color "#rrggbb" | --no-color] [--json]',
  help: 'Renames a tag, or changes its colour.',
  options: {
    name: { type: 'string' },
    color: { type: 'string' },
    'no-color': { type: 'boolean' },
  },
  args: [1, 1],
  async run({ args: [id = ''], options, withApi, print }) {
    const body = changesOf(options)
    if (Object.keys(body).length === 0)
      throw new UsageError('Nothing to change was given: use --name, --color or --no-color.')
    const tag = await withApi((api) => byId('tag', id, () => api.tags.update({ id, body })))
    print(tag, lineOf(tag))
  },
}

export const tagDelete: Command = {
  usage: 'ID [--json]',
  help: 'Deletes a tag. The connections that have it stay.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await withApi((api) => byId('tag', id, () => api.tags.delete({ id })))
    print({ id, state: 'deleted' }, [])
    say(`Deleted ${id}.`)
  },
}

/**
 * Checks the ids of a tag and a connection before a request is sent.
 * @throws AppError not_found
 */
function requireIds(tag: string, connection: string): void {
  if (!isId('tag_', tag)) throw noSuch('tag')
  if (!isId(ID_PREFIX.connection, connection)) throw noSuch('connection')
}

export const tagAssign: Command = {
  usage: 'TAG CONNECTION [--json]',
  help: 'Gives a connection a tag. One that has it already keeps it.',
  args: [2, 2],
  async run({ args: [id = '', cid = ''], withApi, print, say }) {
    requireIds(id, cid)
    const connection = await withApi((api) => api.tags.assign({ id, cid }))
    print(connection, [])
    say(`"${shown(connection.name)}" has ${id}.`)
  },
}

export const tagUnassign: Command = {
  usage: 'TAG CONNECTION [--json]',
  help: 'Takes a tag from a connection.',
  args: [2, 2],
  async run({ args: [id = '', cid = ''], withApi, print, say }) {
    requireIds(id, cid)
    await withApi((api) => api.tags.unassign({ id, cid }))
    print({ id, connection_id: cid, state: 'unassigned' }, [])
    say(`${cid} has ${id} no more.`)
  },
}
