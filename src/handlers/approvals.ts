/** The approval of a new device by this one. */
import { every } from '../api/cursor.ts'
import { AppError } from '../errors.ts'
import type { Handlers } from './context.ts'

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
  begin: async ({ id }, { account, local }) => (await local.approver()).begin(account, id),
  advance: async ({ id }, { account, local }) => (await local.approver()).advance(account, id),
  create: async ({ id, body }, { account, local }) => {
    const approver = await local.approver()
    const added = await approver.approve(account, id, body.words)
    local.syncSoon()
    return added
  },
}
