/**
 * With which role devices took accounts into replacements of a forked connection, by a reading of
 * section 4 of the protocol that is this test's own: the lowest that an account has at the ends of
 * the histories that the signing device held when it signed.
 */
import assert from 'node:assert/strict'
import type { Scene } from './history-steps.ts'
import { type Truth, truthOf } from './history-truth.ts'
import { hashed, payloadOf } from './memory-branches.ts'

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
    const { state } = seats.find(({ identity }) => identity.device === device)!
    const others = state.forks.read(replaces).map((other) => other.entry)
    heldAt.set(entry, [...state.logs.read('roster', replaces), ...others])
  })
}

/** All histories that begin like this one: each up to an entry that no other one follows. */
function historiesFrom(line: readonly string[], entries: ReadonlySet<string>): string[][] {
  const head = hashed(line.at(-1)!)
  const next = [...entries].filter((jws) => payloadOf(jws).prev === head)
  if (next.length === 0) return [[...line]]
  return next.flatMap((jws) => historiesFrom([...line, jws], entries))
}

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
    const held = new Set(scene.heldAt.get(entry)!)
    const histories: Truth[] = historiesFrom([...held].slice(0, 1), held).map((line) =>
      truthOf(scene, replaces, { entries: line }),
    )
    const standing: Standing | undefined = seated.has(member)
      ? 'member'
      : lowestStanding(histories, member)
    if (standing === 'gone')
      assert(scene.byHand.has(`${device} ${id} ${member}`), 'nobody comes back by a fork')
    assert.equal(role, standing === 'owner' ? 'owner' : 'member', `a role in ${id}`)
    seated.add(member)
  }
}
