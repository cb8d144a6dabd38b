import { every } from '../../api/cursor.ts'
import { type Command, UsageError } from '../command.ts'
import { shown, table } from '../table.ts'
import { when } from '../times.ts'

/** The maximum number of notifications in one request. */
const MOST = 200

const counted = (count: number) => `${count} notification${count === 1 ? '' : 's'}`

export const notificationList: Command = {
  usage: '[--unread] [--json]',
  help: `
Lists notifications, newest first. Unread notifications are marked "new".

  --unread   list only unread notifications`,
  options: { unread: { type: 'boolean' } },
  args: [0, 0],
  async run({ options, io, withApi, print }) {
    const those = options['unread'] === true ? { unread: true } : {}
    const items = await withApi((api) =>
      every((query) => api.notifications.list({ ...query, ...those })),
    )
    const [heading = '', ...rows] = await table(
      ['ID', 'TIME', '', 'WHAT'],
      items.map(({ id, created_at, read, title }) => [
        id,
        when(created_at),
        read ? '' : 'new',
        title,
      ]),
      io.stdout,
    )
    const bodies = items.map(({ body }) => `  ${shown(body)}`)
    print({ items }, [heading, ...rows.flatMap((row, i) => [row, bodies[i] ?? ''])])
  },
}

export const notificationRead: Command = {
  usage: '[NOTIFICATION…] [--json]',
  help: 'Marks notifications as read. Without arguments, marks all of them.',
  args: [0, MOST],
  takesMore: 'notification',
  async run({ args, withApi, print, say }) {
    const body = args.length === 0 ? {} : { ids: [...args] }
    const answer = await withApi((api) => api.notifications.read({ body }))
    print(answer, [])
    say(`Marked ${counted(answer.read)} as read.`)
  },
}

export const notificationDelete: Command = {
  usage: 'NOTIFICATION… | --all [--json]',
  help: `
Deletes notifications.

  --all   delete all notifications`,
  options: { all: { type: 'boolean' } },
  args: [0, MOST],
  takesMore: 'notification',
  async run({ args, options, withApi, print, say }) {
    const all = options['all'] === true
    if (all === args.length > 0)
      throw new UsageError('Give notifications, or --all to delete all notifications.')
    const named = all ? {} : { id: [...args] }
    const answer = await withApi((api) => api.notifications.delete(named))
    print(answer, [])
    say(`Deleted ${counted(answer.deleted)}.`)
  },
}
