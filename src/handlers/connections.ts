import type { Connection } from '../api/rest/connections.ts'
import type { Device } from '../device/device.ts'
import { AppError } from '../errors.ts'
import { type Handlers, keeperOf } from './context.ts'

const decorated = (connection: Connection, device: Device | null): Connection => ({
  ...connection,
  secret_here: device?.vault.has(connection.id) ?? false,
})

/**
 * Keep the name that people see in answers to what they asked to be checked. The row's time stays: what else changed at the
 * account meanwhile is for the next sync to fetch.
 */
function remember({ id, name }: Connection, { state, codes, sync, demandSeat }: Device): void {
  demandSeat()
  sync.changed(id)
  const row = state.connections.get(id)
  if (row === null) return
  const renamed = { ...row, name }
  state.connections.put(renamed)
  codes.putConnection(renamed)
}

function forget(id: string, { state, codes, sync, vault }: Device): void {
  sync.changed(id)
  codes.remove(id)
  state.transaction(() => {
    vault.delete(id)
    state.connections.delete(id)
    state.logs.delete('roster', id)
  })
}

export const connections: Handlers['connections'] = {
  list: async (page, { account, device }) => {
    const { items, next_cursor } = await account.connections.list(page)
    return { items: items.map((item) => decorated(item, device)), next_cursor }
  },

  create: async ({ body }, { home, local, act }) => {
    const { openConnection } = await import('../device/connections.ts')
    // Not as a part of the act: envelopes differ each time, and the server knows the roster's entry again.
    return decorated(await openConnection(local, home.seat.account(), body.name, act), local)
  },

  read: async ({ id }, { account, device }) =>
    decorated(await account.connections.read({ id }), device),

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const updated = await context.account.connections.update(input)
    if (keeper !== null) remember(updated, keeper)
    return decorated(updated, keeper)
  },

  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    await context.account.connections.delete({ id })
    if (keeper !== null) forget(id, keeper)
  },

  code: async ({ id }, { account, local }) => {
    const code = local.codes.toSay(id, local.now())
    if (code !== null) return code
    // Tell "no such connection" from "not on this device": the account knows.
    await account.connections.read({ id })
    throw new AppError(
      'secret_unavailable',
      "This device does not hold this connection's secret. A sync fetches it where another device has sealed it to this one; a connection that " +
        'was made before this device was approved, or by a device that is revoked, has to be made anew.',
    )
  },

  favorite: async (input, context) => {
    const keeper = keeperOf(context)
    const updated = await context.account.connections.favorite(input)
    if (keeper !== null) remember(updated, keeper)
    return decorated(updated, keeper)
  },
}
