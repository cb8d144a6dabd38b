/**
 * With which role devices took accounts into replacements of a forked connection, by a reading of
 * section 4 of the protocol that is this test's own: the lowest that an account has at the ends of
 * the histories that the signing device held when it signed.
 */
import assert from 'node:assert/strict'
import type { Scene } from './history-steps.ts'
import { type Truth, truthOf } from './history-truth.ts'
import { hashed, payloadOf } from '../memory-branches.ts'
import type { Seat } from '../session/sessions.ts'

/** What an account is at the end of a history that names it. */
const LOWEST_FIRST = ['gone', 'member', 'owner'] as const
type Standing = (typeof LOWEST_FIRST)[number]

const openingOf = ({ server }: Pick<Scene, 'server'>, connection: string) =>
  payloadOf(server.rosters.branches(connection)[0]!.entries[0]!)

/**
 * Notes, whenever a device takes an account into a replacement, what it holds of the forked
 * connection: it can be shown another history later.
 */
export function noteHeld({
  server,
  seats,
  heldAt,
}: Pick<Scene, 'server' | 'seats'> & { readonly heldAt: Map<string, readonly string[]> }): void {
  server.rosters.onAppend((connection, entry) => {
    const { op, device } = payloadOf(entry)
    const { replaces } = openingOf({ server }, connection)
    if (op !== 'add' || replaces === undefined) return
    const signer = seats.find(({ identity }) => identity.device === device)!
    heldAt.set(entry, heldBy(signer, replaces).all)
  })
}

/** What a device holds of a connection: the branch that it keeps, and the entries of all others. */
function heldBy({ state }: Seat, connection: string) {
  const kept = state.logs.read('roster', connection)
  return { kept, all: [...kept, ...state.forks.read(connection).map(({ entry }) => entry)] }
}

/** All histories that begin like this one: each up to an entry that no other one follows. */
function historiesFrom(line: readonly string[], entries: readonly string[]): string[][] {
  const head = hashed(line.at(-1)!)
  const next = entries.filter((jws) => payloadOf(jws).prev === head)
  if (next.length === 0) return [[...line]]
  return next.flatMap((jws) => historiesFrom([...line, jws], entries))
}

const truthsFrom = (
  scene: Scene,
  connection: string,
  line: readonly string[],
  entries: readonly string[],
): Truth[] =>
  historiesFrom(line, entries).map((one) => truthOf(scene, connection, { entries: one }))

const names = ({ entries }: Truth, account: string): boolean =>
  entries.map(payloadOf).some(({ actor, member }) => actor === account || member === account)

/** @returns undefined where no history names the account */
function lowestStanding(histories: readonly Truth[], account: string): Standing | undefined {
  const standings = histories
    .filter((one) => names(one, account))
    .map(({ members }) => members.find((one) => one.account === account)?.role ?? 'gone')
  return LOWEST_FIRST.find((one) => standings.includes(one))
}

/**
 * Checks that the first entry that seats an account in a replacement gives it the lowest role that
 * it had, and `member` where no history names it or where its person invited it although it was
 * gone. Who was in the replacement before comes back as a member.
 */
export function checkRoles(scene: Scene, { id, entries }: Truth): void {
  const { replaces, actor: opener } = payloadOf(entries[0]!)
  if (replaces === undefined) return
  const seated = new Set<string>([opener])
  for (const entry of entries) {
    const { op, device, member = '', role } = payloadOf(entry)
    if (op !== 'add') continue
    const held = scene.heldAt.get(entry)!
    const histories = truthsFrom(scene, replaces, held.slice(0, 1), held)
    const standing: Standing | undefined = seated.has(member)
      ? 'member'
      : lowestStanding(histories, member)
    if (standing === 'gone')
      assert(scene.byHand.has(`${device} ${id} ${member}`), 'nobody comes back by a fork')
    assert.equal(role, standing === 'owner' ? 'owner' : 'member', `a role in ${id}`)
    seated.add(member)
  }
}

/** The other members of the branch that a device keeps, but for those who are gone in a history. */
export function toInvite(scene: Scene, seat: Seat, { id, members }: Truth): string[] {
  const { kept, all } = heldBy(seat, id)
  const histories = truthsFrom(scene, id, kept.slice(0, 1), all)
  return members
    .map(({ account }) => account)
    .filter((account) => account !== seat.identity.account)
    .filter((account) => lowestStanding(histories, account) !== 'gone')
}

/**
 * The members of a replacement whom its `open` or their first `add` seats higher than the history
 * that a device keeps does, and at the devices of its opener, than any history does: they came back
 * by the fork, which a device can hear of after the replacement was opened.
 */
export function cameBack(scene: Scene, seat: Seat, { id, entries, members }: Truth): string[] {
  const { replaces, actor: opener } = payloadOf(entries[0]!)
  const { kept, all } = heldBy(seat, replaces ?? id)
  if (replaces === undefined || kept.length === 0) return []
  const isOpener = opener === seat.identity.account
  const histories = truthsFrom(scene, replaces, isOpener ? kept.slice(0, 1) : kept, all)
  const seated = new Map<string, Standing>([[opener, 'owner']])
  for (const { op, member = '', role = 'member' } of entries.map(payloadOf))
    if (op === 'add' && !seated.has(member)) seated.set(member, role)
  const isHigher = (account: string): boolean => {
    const before = lowestStanding(histories, account)
    const now = LOWEST_FIRST.indexOf(seated.get(account)!)
    return before !== undefined && now > LOWEST_FIRST.indexOf(before)
  }
  return members
    .map(({ account }) => account)
    .filter((account) => account !== seat.identity.account && isHigher(account))
}
