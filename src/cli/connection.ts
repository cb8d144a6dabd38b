import { every } from '../api/cursor.ts'
import type { Connection, Member } from '../api/rest/connections.ts'
import { byId } from './by-id.ts'
import { type Api, type Command, UsageError } from './command.ts'
import { inviteeOf } from './invitee.ts'
import { shown, table } from './table.ts'

/** A connection, as the account server tells of it. Throws AppError not_found in words of the command line. */
export const readConnection = (api: Api, id: string): Promise<Connection> =>
  byId('connection', id, () => api.connections.read({ id }))

/** Whether somebody is in the connection, not only invited. */
export const isActive = ({ state }: Member): boolean => state === 'active'

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
  usage: '--name NAME [--invite ADDRESS|ACCOUNT]… [--json]',
  help: `
Creates a connection with yourself as its only member and owner, and invites others to it, as "countersignd invite" does.

  --name NAME                whom the connection is with; others see it in their invitation
  --invite ADDRESS|ACCOUNT   a mailbox, which needs no account yet, or the id of an account (acc_…); may be given several times`,
  options: { name: { type: 'string' }, invite: { type: 'string', multiple: true } },
  args: [0, 0],
  async run({ options, withApi, print, say }) {
    const { name } = options
    if (name === undefined)
      throw new UsageError('--name says whom the connection is with; give one.')
    // An option that may be given several times is a list.
    const asked = (options['invite'] ?? []) as unknown as readonly string[]
    const body = { name: String(name), invite: asked.map(inviteeOf) }
    const made = await withApi((api) => api.connections.create({ body }))
    print(made, `${made.id}  ${shown(made.name)}`)
    if (asked.length > 0)
      say(
        `Invited ${asked.join(', ')}. Whoever approves is taken in by this device, at its next sync.`,
      )
  },
}

const SECRET = {
  here: 'on this device',
  missing: 'not on this device: "countersignd sync" fetches it, once a device that holds it synced',
} as const

export const connectionShow: Command = {
  usage: 'ID [--json]',
  help: 'Shows one connection: who is in it, and whether its secret is on this device.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print }) {
    const connection = await withApi((api) => readConnection(api, id))
    const { name, kind, state, members, epoch, secret_here, created_at } = connection
    const names = (of: readonly Member[]) => of.map(({ display_name }) => display_name).join(', ')
    const invited = members.filter((member) => !isActive(member))
    const rows: (readonly [name: string, value: string])[] = [
      ['id', id],
      ['name', name],
      ['state', `${state} (${kind})`],
      ['members', names(members.filter(isActive))],
      ...(invited.length === 0 ? [] : [['invited', names(invited)] as const]),
      ['secret', `${secret_here ? SECRET.here : SECRET.missing}; epoch ${epoch}`],
      ['created', created_at],
    ]
    print(
      connection,
      rows.map(([key, value]) => `${key.padEnd(8)}  ${shown(value)}`),
    )
  },
}

export const connectionRename: Command = {
  usage: 'ID NAME [--json]',
  help: 'Renames a connection, for yourself alone.',
  args: [2, 2],
  async run({ args: [id = '', name = ''], withApi, print }) {
    const renamed = await withApi((api) =>
      byId('connection', id, () => api.connections.update({ id, body: { name } })),
    )
    print(renamed, `${id}  ${shown(renamed.name)}`)
  },
}
