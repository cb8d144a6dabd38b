/**
 * Names at devices, for tests: signed, given, confirmed, and those that an account server may
 * show.
 */
import type { Account } from '../../src/api/port.ts'
import { signProfile } from '../../src/crypto/logs/profile.ts'
import { giveOwnName } from '../../src/device/trust/own-name.ts'
import { nameOf } from '../../src/device/names.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../world/requests.ts'
import { type DeviceUser, connected as connectedLate } from '../world/world.ts'

/** Connects two people, each with the signed name of the other. */
export async function connected(a: DeviceUser, b: DeviceUser, name?: string): Promise<string> {
  await b.sync()
  return connectedLate(a, b, name)
}

/** Returns the name of an account at a device, with source and marks. */
export function called(user: DeviceUser, { id }: DeviceUser): (string | string[])[] {
  const naming = { state: user.state, own: user.id }
  const { display_name, name_source, name_marks } = nameOf(naming, id, 'unknown')
  return name_marks.length === 0
    ? [display_name, name_source]
    : [display_name, name_source, name_marks]
}

export const rename = (user: DeviceUser, name: string) =>
  giveOwnName(user.device(), user.account(), name)

/** Shows the safety number of an account, and confirms its keys. */
export async function confirm(user: DeviceUser, { id }: DeviceUser): Promise<void> {
  await trustCards.create({ body: { user_id: id } }, at(user))
  await trustCards.list({ limit: 50 }, at(user))
  await confirmAt(user, id)
}

export const give = (user: DeviceUser, { id }: DeviceUser, name: string | null) =>
  trustCards.update({ id, body: { name } }, at(user))

/** Returns a profile of an account, signed by this device. */
export async function profileBy(user: DeviceUser, n: number, name: string): Promise<string> {
  const { identity } = user.device()
  const { sign } = await identity.keys()
  const of = { account: user.id, device: user.deviceId, n, name }
  return signProfile({ ...of, kid: identity.kid, seed: sign.secret })
}

/** An account server that returns this signed profile for every account. */
let restarts = 0
export const saying =
  (jws: string | undefined) =>
  (account: Account): Account => {
    const { keyLogs, rosters } = account
    const row = jws === undefined ? {} : { profile: jws }
    // The new time makes each restart fetch everything again.
    const updated_at = new Date(Date.UTC(2031, 0, 1) + restarts++).toISOString()
    return {
      ...account,
      connections: {
        ...account.connections,
        list: async (page) => {
          const { items, next_cursor } = await account.connections.list(page)
          return { items: items.map((item) => ({ ...item, updated_at })), next_cursor }
        },
      },
      keyLogs: {
        ...keyLogs,
        read: async (of) => {
          const { profile: _, ...rest } = await keyLogs.read(of)
          return { ...rest, ...row }
        },
      },
      rosters: {
        ...rosters,
        read: async (of) => {
          const { key_logs, ...page } = await rosters.read(of)
          return {
            ...page,
            key_logs: key_logs.map((log) => {
              const { profile: _, ...rest } = log
              return { ...rest, ...row }
            }),
          }
        },
      },
    }
  }
