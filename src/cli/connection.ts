import { type Command, UsageError } from './command.ts'
import { every } from '../api/cursor.ts'
import { shown, table } from './table.ts'

export const connectionList: Command = {
  usage: '[--json]',
  help: 'Lists connections, newest first.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.connections.list(query)))
    print(
      { items },
      table(
        ['ID', 'NAME', 'STATE', 'SECRET HERE'],
        items.map(({ id, name, state, secret_here }) => [
          id,
          name,
          state,
          secret_here ? 'yes' : 'no',
        ]),
      ),
    )
  },
}

export const connectionCreate: Command = {
  usage: '--name NAME [--json]',
  help: 'Creates a connection with yourself as its only member.',
  options: { name: { type: 'string' } },
  args: [0, 0],
  async run({ options: { name }, withApi, print }) {
    if (name === undefined)
      throw new UsageError('--name says whom the connection is with; give one.')
    const made = await withApi((api) => api.connections.create({ body: { name: String(name) } }))
    print(made, `${made.id}  ${shown(made.name)}`)
  },
}
