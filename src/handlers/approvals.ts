/** The approval of a new device by this one. */
import { every } from '../api/cursor.ts'
import { AppError } from '../errors.ts'
import { type Handlers, type HandlerContext, consoleSince } from './context.ts'

/**
 * Returns the part of this device that approves, if a person may be at the request: it is from the
 * command line or from a console.
 *
 * Any other token can be copied. With it and an address of the account, a thief could approve a
 * device of their own, which has all keys and stays after the token is revoked.
 * @throws AppError `no_device`, or `forbidden` for another token
 */
function approverFor(context: HandlerContext) {
  // First, because a machine account's token has no device.
  const { local, caller } = context
  const isCommandLine = (caller?.token ?? null) === null
  if (isCommandLine || consoleSince(context) !== null) return local.approver()
  throw new AppError(
    'forbidden',
    'An API token cannot approve a device. Nothing was changed. Run "countersignd device approve" as the daemon’s own user, without SVC_TOKEN and SVC_TOKEN_FILE, or approve in the console: "countersignd open --full".',
  )
}

export const approvals: Handlers['approvals'] = {
  read: async ({ id }, { account, local }) => {
    const devices = await every((query) => account.devices.list(query))
    const device = devices.find((one) => one.id === id)
    if (device === undefined) throw new AppError('not_found', 'There is no such device.')
    const { unsealed } = await account.duties.read({})
    const here = unsealed.filter(
      ({ connection, devices: ids }) => ids.includes(id) && local.vault.has(connection),
    )
    return { state: device.state, unsealed: here.length }
  },
  begin: async ({ id }, context) => (await approverFor(context)).begin(context.account, id),
  advance: async ({ id }, context) => (await approverFor(context)).advance(context.account, id),
  create: async ({ id, body }, context) => {
    const { account, local } = context
    const approver = await approverFor(context)
    const added = await approver.approve(account, id, body.words)
    local.syncSoon()
    return added
  },
}
