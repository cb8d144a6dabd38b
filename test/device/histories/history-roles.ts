/**
 * Checks the roles that accounts get in replacements of a forked connection.
 * It is an independent reading of section 4 of the protocol: an account gets the lowest role that
 * it has at the ends of the histories that the signing device held when it signed.
 */
import assert from 'node:assert/strict'
import type { Scene } from './history-steps.ts'
import { type Truth, truthOf } from './history-truth.ts'
import { hashed, payloadOf } from '../memory-branches.ts'
import type { Participant } from '../session/sessions.ts'

/** The roles of an account at the end of a history that names it. */
const LOWEST_FIRST = ['gone', 'member', 'owner'] as const
type Standing = (typeof LOWEST_FIRST)[number]

const openingOf = ({ server }: Pick<Scene, 'server'>, connection: string) =>
  payloadOf(server.rosters.branches(connection)[0]!.entries[0]!)

/**
 * Records what a device holds of the forked connection when it adds an account to a replacement.
 * The device can be shown another history later.
 */
export function noteHeld({
  server,
  participants,
  heldAt,
}: Pick<Scene, 'server' | 'participants'> & {
  readonly heldAt: Map<string, readonly string[]>
}): void {
  server.rosters.onAppend((connection, entry) => {
    const { op, device } = payloadOf(entry)
    const { replaces } = openingOf({ server }, connection)
    if (op !== 'add' || replaces === undefined) return
    const signer = participants.find(({ identity }) => identity.device === device)!
    heldAt.set(entry, entriesAt(signer, replaces).all)
  })
}

/**
 * Returns what a device holds of a connection: the branch it keeps, and the entries of all
 * others.
 */
function entriesAt({ state }: Participant, connection: string) {
  const stored = state.logs.read('roster', connection)
  return { stored, all: [...stored, ...state.forks.read(connection).map(({ entry }) => entry)] }
}

/** Returns all histories with this beginning, each up to an entry without a next one. */
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

/** @returns undefined if no history names the account */
function lowestStanding(histories: readonly Truth[], account: string): Standing | undefined {
  const standings = histories
    .filter((one) => names(one, account))
    .map(({ members }) => members.find((one) => one.account === account)?.role ?? 'gone')
  return LOWEST_FIRST.find((one) => standings.includes(one))
}

/**
 * Checks the role in the first entry that adds an account to a replacement.
 * It is the lowest role that the account had. It is `member` if no history names the account, or
 * if the account was removed and the user of the signing device invited it again. An account that
 * was in the replacement before comes back as a member.
 */
export function checkRoles(scene: Scene, { id, entries }: Truth): void {
  const { replaces, actor: opener } = payloadOf(entries[0]!)
  if (replaces === undefined) return
  const seated = new Set<string>([opener])
  for (const entry of entries) {
    const { op, device, member = '', role } = payloadOf(entry)
    if (op !== 'add') continue
    const seenAt = scene.heldAt.get(entry)!
    const histories = truthsFrom(scene, replaces, seenAt.slice(0, 1), seenAt)
    const standing: Standing | undefined = seated.has(member)
      ? 'member'
      : lowestStanding(histories, member)
    if (standing === 'gone')
      assert(scene.byHand.has(`${device} ${id} ${member}`), 'nobody comes back by a fork')
    assert.equal(role, standing === 'owner' ? 'owner' : 'member', `a role in ${id}`)
    seated.add(member)
  }
}

/**
 * Returns the other members of the branch that a device keeps, except those removed in a history.
 */
export function toInvite(scene: Scene, participant: Participant, { id, members }: Truth): string[] {
  const { stored, all } = entriesAt(participant, id)
  const histories = truthsFrom(scene, id, stored.slice(0, 1), all)
  return members
    .map(({ account }) => account)
    .filter((account) => account !== participant.identity.account)
    .filter((account) => lowestStanding(histories, account) !== 'gone')
}

/**
 * Returns the members of a replacement with a higher role there than before the fork.
 * The role is that of the `open` entry or of the account’s first `add`. It is compared with the
 * history that the device keeps; at the devices of the opener, with the lowest role in all
 * histories. These members came back by the fork, which a device can learn of after the
 * replacement was opened.
 */
export function cameBack(
  scene: Scene,
  participant: Participant,
  { id, entries, members }: Truth,
): string[] {
  const { replaces, actor: opener } = payloadOf(entries[0]!)
  const { stored, all } = entriesAt(participant, replaces ?? id)
  if (replaces === undefined || stored.length === 0) return []
  const isOpener = opener === participant.identity.account
  const histories = truthsFrom(scene, replaces, isOpener ? stored.slice(0, 1) : stored, all)
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
    .filter((account) => account !== participant.identity.account && isHigher(account))
}
