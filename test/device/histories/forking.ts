/**
 * Connections with a forked history: their owners, the forks, and the entries that devices are
 * shown.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { rotateNow, setRole } from '../../../src/device/connections/members.ts'
import { showing } from '../../world/lies.ts'
import { type DeviceUser, joinMembers, worldOf } from '../../world/world.ts'
import { instead } from '../../world/interceptor.ts'

/** Returns Ada and Bob, who own a connection, with Cy in it. */
export async function owned(t: TestContext) {
  const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
  const id = await ada.connect()
  await joinMembers(ada, id, [bob, cy])
  await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
  for (const user of [bob, cy]) await user.sync()
  return { world, ada, bob, cy, id }
}

const losing = instead('rosters', 'append', () => async () => ({ seq: 4, head: 'A'.repeat(43) }))

/**
 * Signs on a device; the account server acknowledges the entry and loses it.
 * @returns the device and the entry
 */
export async function lost(user: DeviceUser, id: string, sign: (user: DeviceUser) => unknown) {
  const cut = user.restart(losing)
  await sign(cut)
  const entry = cut.state.logs.head('roster', id)!.entry
  return { user: cut.restart((account) => account), entry }
}

export const rotates = (id: string) => (user: DeviceUser) =>
  rotateNow(user.device(), user.account(), id)

/** A server that returns a roster with this entry in place of its newest ones. */
export const showingBranch = (id: string, seq: number, entry: string) =>
  showing((entries, of) => (of === id ? [...entries.slice(0, seq), entry] : entries))

/** Runs a sync; returns its error, or an empty string. */
export const synced = async (user: DeviceUser): Promise<string> =>
  (await user.device().sync.run('request')).error ?? ''

/** Returns a device that was shown another branch than the one it keeps. */
export async function shown(
  user: DeviceUser,
  id: string,
  seq: number,
  entry: string,
): Promise<DeviceUser> {
  const lied = user.restart(showingBranch(id, seq, entry))
  assert.match(await synced(lied), /forked: the account server shows two histories/)
  return lied.restart((account) => account)
}

export const others = async (user: DeviceUser, id: string) =>
  (await user.account().connections.list({ limit: 50 })).items.filter((one) => one.id !== id)

export const inPlaceOf = ({ state }: DeviceUser, id: string): string =>
  state.replacements.inPlaceOf(id) ?? assert.fail('nothing is in its place')

/** Makes a fork that neither Ada nor Bob has seen: the server lost the entry that Bob signed. */
export async function forked(t: TestContext) {
  const { world, ada, bob, cy, id } = await owned(t)
  const seq = bob.state.logs.head('roster', id)!.seq + 1
  const { user: other, entry } = await lost(bob, id, rotates(id))
  await rotateNow(ada.device(), ada.account(), id)
  await cy.sync()
  return { world, ada, bob: other, cy, id, seq, entry }
}
