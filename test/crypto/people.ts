/** Five people with different key logs, and rosters of one connection among them. */
import {
  addMember,
  endConnection,
  leave,
  openEntry,
  verifyRoster,
  type RosterRole,
  type Roster,
} from '../../src/crypto/logs/roster.ts'
import {
  add,
  consentTo,
  logsOf,
  newConnection,
  newDevice,
  newPerson,
  reset,
  revoke,
  signer,
  type Person,
  type TestDevice,
} from './builders.ts'

export const k = (epoch: number) => new Uint8Array(32).fill(epoch)
export const devices = {
  a1: newDevice(),
  a2: newDevice(),
  b1: newDevice(),
  c1: newDevice(),
  d1: newDevice(),
  d2: newDevice(),
  e1: newDevice(),
}
const { a1, a2, b1, c1, d1, d2, e1 } = devices
export const [A, B, C, D, E] = [
  newPerson(a1),
  newPerson(b1),
  newPerson(c1),
  newPerson(d1),
  newPerson(e1),
]
// The log of A names a2 and revokes a1; that of D is reset to d2.
add(A, a2, a1)
revoke(A, a1, a2)
reset(D, d2)
export const keyLogs = logsOf(A, B, C, D, E)
export const connection = newConnection()
export const after = (entries: readonly string[]) => verifyRoster(connection, entries, keyLogs)
export const withEntry = (roster: Roster, entry: string) => after([...roster.entries, entry])

export const byA = signer(A, a1, 0)
export const memberLog = (person: Person, seq = 0) => ({ seq, head: person.log.heads[seq]! })
const deviceOf = new Map<Person, TestDevice>([
  [B, b1],
  [C, c1],
  [D, d1],
  [E, e1],
])
/** Returns the consent of a person to the owner A, by default from the person’s first device. */
export const consentOf = (
  roster: Pick<Roster, 'connection' | 'head'>,
  person: Person,
  seq = 0,
  device = deviceOf.get(person)!,
) => consentTo(roster, A, person, device, seq)
export const added = (
  roster: Roster,
  person: Person,
  role: RosterRole = 'member',
  seq = 0,
  device = deviceOf.get(person)!,
) => {
  const consent = consentOf(roster, person, seq, device)
  const who = { member: person.account, memberLog: memberLog(person, seq), role, consent }
  return withEntry(roster, addMember({ roster, keyLogs, ...who, ...byA }))
}
export const alone = after([openEntry({ connection, k: k(1), ...byA })])
export const two = added(alone, B)
/** A owns it; B and C are members. */
export const three = added(two, C)
/** The connection has ended. */
export const over = withEntry(three, endConnection({ roster: three, keyLogs, ...signer(A, a2) }))
/** C has left: a rotation is pending. */
export const left = withEntry(three, leave({ roster: three, keyLogs, ...signer(C, c1) }))
