import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import type { Device } from '../device/device.ts'
import { dropDeparted } from '../device/departed.ts'
import { dismiss, dismissed, isUnsignable } from '../device/dismissed.ts'
import { dropHoldUps } from '../device/hold-ups.ts'
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

/** The roster of one that was left stays: whoever is taken in again must not be shown an older one. */
function forget(id: string, how: 'left' | 'ended', { state, codes, sync, vault }: Device): void {
  sync.changed(id)
  codes.remove(id)
  state.transaction(() => {
    vault.delete(id)
    state.connections.delete(id)
    state.invites.clear(id)
    dropDeparted(state, id)
    dropHoldUps(state, id)
    if (how === 'ended') state.logs.delete('roster', id)
  })
}

const isNotFound = (error: unknown) => error instanceof AppError && error.code === 'not_found'

/** Whether the account server has the connection no more for this account. */
async function isGone(id: string, account: Account): Promise<boolean> {
  try {
    await account.connections.read({ id })
    return false
  } catch (error) {
    if (isNotFound(error)) return true
    throw error
  }
}

/**
 * Leave or end a connection as `leaveOrEnd` does, and forget it; where nothing can be signed,
 * forget it here. Succeeds where an earlier request did it whose answer was lost.
 */
export async function leave(
  id: string,
  account: Account,
  device: Device,
  asLastOwner?: 'stay' | 'end',
): Promise<void> {
  const { leaveOrEnd } = await import('../device/members.ts')
  try {
    forget(id, await leaveOrEnd(device, account, id, asLastOwner), device)
  } catch (error) {
    // The account server may have carried it out already, and its answer was lost.
    const isDone =
      isNotFound(error) && device.state.connections.get(id) !== null && (await isGone(id, account))
    if (!isDone && !isUnsignable(error)) throw error
    if (!isDone) dismiss(device.state, id)
    forget(id, 'left', device)
  }
}

export const connections: Handlers['connections'] = {
  list: async (page, { account, device }) => {
    const { items, next_cursor } = await account.connections.list(page)
    const gone = device === null ? new Set<string>() : dismissed(device.state)
    const here = items.filter(({ id }) => !gone.has(id))
    return { items: here.map((item) => decorated(item, device)), next_cursor }
  },

  create: async ({ body }, { home, local, act }) => {
    const { openConnection } = await import('../device/connections.ts')
    // Not as a part of the act: envelopes differ each time, and the server knows the roster's entry again.
    const made = await openConnection(local, home.seat.account(), body, act)
    if (body.invite.length > 0) local.syncSoon()
    return decorated(made, local)
  },

  read: async ({ id }, { account, device }) => {
    if (device !== null && dismissed(device.state).has(id))
      throw new AppError('not_found', 'There is no such connection.')
    return decorated(await account.connections.read({ id }), device)
  },

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const updated = await context.account.connections.update(input)
    if (keeper !== null) remember(updated, keeper)
    return decorated(updated, keeper)
  },

  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.connections.delete({ id })
    return leave(id, context.account, keeper, 'end')
  },

  code: async ({ id }, { account, local }) => {
    const at = local.now()
    local.refreshForOwnWords()
    const code = local.codes.toSay(id, at)
    if (code !== null) {
      local.demandClock(at)
      return code
    }
    const { noWords } = await import('../device/no-words.ts')
    throw await noWords(local, account, id)
  },

  favorite: async (input, context) => {
    const keeper = keeperOf(context)
    const updated = await context.account.connections.favorite(input)
    if (keeper !== null) remember(updated, keeper)
    return decorated(updated, keeper)
  },
}
