import type { Connection } from '../api/rest/connections.ts'
import { AppError } from '../errors.ts'
import type { Handlers, Local } from './context.ts'

const decorated = (connection: Connection, { vault }: Local): Connection => ({
  ...connection,
  secret_here: vault.has(connection.id),
})

/**
 * Keep the name that people see in answers to what they asked to be checked. The row's time stays: what else changed at the
 * account meanwhile is for the next sync to fetch.
 */
function remember({ id, name }: Connection, { state, codes, sync }: Local): void {
  sync.changed(id)
  const row = state.connections.get(id)
  if (row === null) return
  const renamed = { ...row, name }
  state.connections.put(renamed)
  codes.putConnection(renamed)
}

export const connections: Handlers['connections'] = {
  list: async (page, { account, local }) => {
    const { items, next_cursor } = await account.connections.list(page)
    return { items: items.map((item) => decorated(item, local)), next_cursor }
  },

  create: async ({ body }, { account, local }) => {
    const { openConnection } = await import('../device/connections.ts')
    return decorated(await openConnection(local, account, body.name, local.now()), local)
  },

  read: async ({ id }, { account, local }) =>
    decorated(await account.connections.read({ id }), local),

  update: async (input, { account, local }) => {
    const updated = await account.connections.update(input)
    remember(updated, local)
    return decorated(updated, local)
  },

  delete: async ({ id }, { account, local }) => {
    await account.connections.delete({ id })
    local.sync.changed(id)
    local.codes.remove(id)
    local.state.transaction(() => {
      local.vault.delete(id)
      local.state.connections.delete(id)
      local.state.logs.delete('roster', id)
    })
  },

  code: async ({ id }, { account, local }) => {
    const code = local.codes.toSay(id, local.now())
    if (code !== null) return code
    // Tell "no such connection" from "not on this device": the account knows.
    await account.connections.read({ id })
    throw new AppError(
      'secret_unavailable',
      "This device does not hold this connection's secret yet. POST /api/v1/sync fetches it.",
    )
  },

  favorite: async (input, { account, local }) => {
    const updated = await account.connections.favorite(input)
    remember(updated, local)
    return decorated(updated, local)
  },
}
