import { every } from '../../api/cursor.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { noSuch } from '../by-id.ts'
import { type Command, UsageError } from '../command.ts'
import { shown, table } from '../table.ts'

/** The maximum number of notifications in one request. */
const MOST = 200

/**
 * Checks ids before a request is sent.
 * @throws AppError `not_found` if a text cannot be an id
 */
function requireIds(ids: readonly string[]): string[] {
  for (const id of ids) if (!isId('ntf_', id)) throw noSuch('notification')
  return [...ids]
}

const counted = (count: number) => `${count} notification${count === 1 ? '' : 's'}`

export const notificationList: Command = {
  usage: '[--unread] [--json]',
  help: `
Lists notifications, newest first. Unread notifications are marked "new".

  --unread   list only unread notifications`,
  options: { unread: { type: 'boolean' } },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const those = options['unread'] === true ? { unread: true } : {}
    const items = await withApi((api) =>
      every((query) => api.notifications.list({ ...query, ...those })),
    )
    const [heading = '', ...rows] = await table(
      ['ID', 'TIME', '', 'WHAT'],
      items.map(({ id, created_at, read, title }) => [id, created_at, read ? '' : 'new', title]),
    )
    const bodies = items.map(({ body }) => `  ${shown(body)}`)
    print({ items }, [heading, ...rows.flatMap((row, i) => [row, bodies[i] ?? ''])])
  },
}

export const notificationRead: Command = {
  usage: '[ID…] [--json]',
  help: 'Marks notifications as read. Without an id, marks all of them.',
  args: [0, MOST],
  async run({ args, withApi, print, say }) {
    const body = args.length === 0 ? {} : { ids: requireIds(args) }
    const answer = await withApi((api) => api.notifications.read({ body }))
    print(answer, [])
    say(`Marked ${counted(answer.read)} as read.`)
  },
}

export const notificationDelete: Command = {
  usage: 'ID… | --all [--json]',
  help: `
Deletes notifications.

  --all   delete all notifications`,
  options: { all: { type: 'boolean' } },
  args: [0, MOST],
  async run({ args, options, withApi, print, say }) {
    const all = options['all'] === true
    if (all === args.length > 0)
      throw new UsageError('Give the ids of notifications, or --all to delete all notifications.')
    const named = all ? {} : { id: requireIds(args) }
    const answer = await withApi((api) => api.notifications.delete(named))
    print(answer, [])
    say(`Deleted ${counted(answer.deleted)}.`)
  },
}
