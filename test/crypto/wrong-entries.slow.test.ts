/** Tests every way in which an entry of a roster may be wrong, and its reason. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { Refusal, type RefusalReason } from '../../src/crypto/refusal.ts'
import { addMember, verifyRoster, type Roster } from '../../src/crypto/logs/roster.ts'
import {
  consentTo,
  logsOf,
  newConnection,
  newDevice,
  newMember,
  newPerson,
  opening,
  place,
  rosterEntry,
  signer,
  type Person,
  type TestDevice,
} from './builders.ts'
import { A, after, alone, B, C, connection, consentOf, devices, E, k, left } from './people.ts'
import { memberLog, over, three, two, withEntry } from './people.ts'

const { a1, a2, b1, c1, e1 } = devices
const [a, b, c] = [A.account, B.account, C.account]
const refused = (attempt: () => unknown, reason: RefusalReason, entry: number) =>
  assert.throws(attempt, (error: Refusal) => {
    assert.deepEqual([error.reason, error.details.entry], [reason, entry])
    return true
  })

describe('a wrong entry', () => {
  const adding = (person: Person, change: object = {}) => ({
    op: 'add',
    member: person.account,
    member_log: place(person, 0),
    role: 'member',
    consent: consentOf(two, person === A ? B : person),
    ...change,
  })
  const rotating = (roster: Roster, change: object = {}) => ({
    op: 'rotate',
    ...opening(roster, k(2)),
    ...change,
  })
  const removing = (roster: Roster, member: string, change: object = {}) => ({
    op: 'remove',
    member,
    ...opening(roster, k(2)),
    ...change,
  })
  const leaving = { op: 'leave' }
  const ending = { op: 'end' }
  const owning = (member: string) => ({ op: 'role', member, role: 'owner' })
  const early = { actor_log: place(A, 0) }
  const nowhere = encodeBase64url(new Uint8Array(32))
  type Row = [
    name: string,
    before: Roster,
    person: Person,
    device: TestDevice,
    object,
    RefusalReason,
  ]
  const table: Row[] = [
    ['add by a member', two, B, b1, adding(C), 'not_owner'],
    ['add by an account that is no member', two, E, e1, adding(C), 'not_member'],
    ['add of a member', two, A, a2, adding(B), 'already_member'],
    ['add of oneself', two, A, a2, adding(A), 'already_member'],
    ['add while a rotation is pending', left, A, a2, adding(E), 'rotation_pending'],
    ['add of a former member', left, A, a2, adding(C), 'rotation_pending'],
    ['add without a role', two, A, a2, adding(C, { role: undefined }), 'missing_member'],
    ['add without a log', two, A, a2, adding(C, { member_log: undefined }), 'missing_member'],
    ['add with K', two, A, a2, { ...adding(C), ...opening(two, k(2)) }, 'superfluous_k_commit'],
    ['add in a new epoch', two, A, a2, adding(C, { epoch: 2 }), 'epoch_skip'],
    [
      'add naming another account’s log',
      two,
      A,
      a2,
      adding(C, { member_log: place(E) }),
      'member_log_mismatch',
    ],
    [
      'add without a place',
      two,
      A,
      a2,
      adding(C, { member_log: { seq: 7, head: nowhere } }),
      'member_log_mismatch',
    ],
    [
      'add of an account without a log',
      two,
      A,
      a2,
      adding(C, { member: newPerson(newDevice()).account }),
      'member_log_mismatch',
    ],
    ['add of an address', two, A, a2, adding(C, { member: 'c@example.org' }), 'not_an_account'],
    ['add as admin', two, A, a2, adding(C, { role: 'admin' }), 'bad_value'],
    ['remove by a member', three, B, b1, removing(three, c), 'not_owner'],
    ['remove of oneself by a member', three, B, b1, removing(three, b), 'not_owner'],
    [
      'remove of an account that is no member',
      three,
      A,
      a2,
      removing(three, E.account),
      'not_member',
    ],
    ['remove of the last owner', three, A, a2, removing(three, a), 'last_owner'],
    [
      'remove without K',
      three,
      A,
      a2,
      removing(three, b, { k_commit: undefined }),
      'missing_k_commit',
    ],
    ['remove without a member', three, A, a2, rotating(three, { op: 'remove' }), 'missing_member'],
    ['remove in the same epoch', three, A, a2, removing(three, b, { epoch: 1 }), 'epoch_skip'],
    [
      'remove with a role',
      three,
      A,
      a2,
      removing(three, b, { role: 'member' }),
      'superfluous_member',
    ],
    ['role by a member', two, B, b1, owning(b), 'not_owner'],
    ['role of an account that is no member', two, A, a2, owning(E.account), 'not_member'],
    [
      'role that leaves no owner',
      two,
      A,
      a2,
      { op: 'role', member: a, role: 'member' },
      'last_owner',
    ],
    ['role in a new epoch', two, A, a2, { ...owning(b), epoch: 2 }, 'epoch_skip'],
    ['role with a log', two, A, a2, { ...adding(B), op: 'role' }, 'superfluous_member'],
    ['leave by an account that is no member', two, E, e1, leaving, 'not_member'],
    ['leave twice', left, C, c1, leaving, 'not_member'],
    ['leave of the last owner', two, A, a2, leaving, 'last_owner'],
    ['leave of the only member', alone, A, a2, leaving, 'last_owner'],
    ['leave in the name of another', two, B, b1, { ...leaving, member: b }, 'superfluous_member'],
    ['leave with K', two, B, b1, { ...leaving, ...opening(two, k(2)) }, 'superfluous_k_commit'],
    ['end by a member', two, B, b1, ending, 'not_owner'],
    ['end by an account that is no member', two, E, e1, ending, 'not_member'],
    ['end in the name of another', two, A, a2, { ...ending, member: b }, 'superfluous_member'],
    ['end with K', two, A, a2, { ...ending, ...opening(two, k(2)) }, 'superfluous_k_commit'],
    ['end in a new epoch', two, A, a2, { ...ending, epoch: 2 }, 'epoch_skip'],
    ['end after the end', over, A, a2, ending, 'ended'],
    ['add after the end', over, A, a2, adding(E), 'ended'],
    ['remove after the end', over, A, a2, removing(over, b), 'ended'],
    ['role after the end', over, A, a2, owning(b), 'ended'],
    ['leave after the end', over, B, b1, leaving, 'ended'],
    ['rotate after the end', over, B, b1, rotating(over), 'ended'],
    ['rotate by an account that is no member', two, E, e1, rotating(two), 'not_member'],
    ['rotate by a former member', left, C, c1, rotating(left), 'not_member'],
    ['rotate skipping an epoch', two, A, a2, rotating(two, { epoch: 3 }), 'epoch_skip'],
    ['rotate without K', two, A, a2, rotating(two, { k_commit: undefined }), 'missing_k_commit'],
    [
      'rotate with K of 31 bytes',
      two,
      A,
      a2,
      rotating(two, { k_commit: encodeBase64url(new Uint8Array(31)) }),
      'bad_value',
    ],
    ['open again', two, A, a2, rotating(two, { op: 'open' }), 'bad_op'],
    ['an unknown op', two, A, a2, { op: 'merge' }, 'bad_op'],
    ['the op null', two, A, a2, { op: null }, 'bad_op'],
    ['a device not yet in the log', two, A, a2, rotating(two, early), 'unknown_signer'],
    ['a device revoked by then', two, A, a1, rotating(two), 'revoked_signer'],
    ['a device of another', two, B, e1, rotating(two), 'unknown_signer'],
    ['a device in the name of another', two, A, b1, rotating(two), 'unknown_signer'],
    [
      'another device than the named one',
      two,
      A,
      a2,
      rotating(two, { ...early, device: a1.id }),
      'kid_mismatch',
    ],
    [
      'a log with another continuation',
      two,
      A,
      a2,
      rotating(two, { actor_log: { seq: 2, head: nowhere } }),
      'actor_log_mismatch',
    ],
    [
      'a place of another log',
      two,
      B,
      b1,
      rotating(two, { actor_log: place(E) }),
      'actor_log_mismatch',
    ],
    ['a skipped seq', two, A, a2, rotating(two, { seq: 3 }), 'gap'],
    ['no prev', two, A, a2, rotating(two, { prev: nowhere }), 'prev_mismatch'],
    [
      'another connection',
      two,
      A,
      a2,
      rotating(two, { connection: newConnection() }),
      'wrong_connection',
    ],
    ['version 1', two, A, a2, rotating(two, { v: 1 }), 'wrong_version'],
  ]
  for (const [name, before, person, device, change, reason] of table) {
    test(`${name}: ${reason}`, () => {
      const entry = rosterEntry(before, person, device, change)
      refused(() => withEntry(before, entry), reason, before.seq + 1)
    })
  }

  test('a first entry without open: bad_op', () => {
    const nothing = { connection, seq: -1, head: new Uint8Array(32), epoch: 1 }
    refused(() => after([rosterEntry(nothing, A, a2, adding(B))]), 'bad_op', 0)
  })
  test('member 201: too_many_members', () => {
    const people = Array.from({ length: 200 }, newMember)
    const logs = logsOf(A, ...people.map(({ person }) => person))
    const entries = [...alone.entries]
    let roster: Roster = alone
    for (const { person, device } of people.slice(1)) {
      const consent = consentTo(roster, A, person, device)
      const change = { op: 'add', member: person.account, member_log: place(person), consent }
      entries.push(rosterEntry(roster, A, a2, { role: 'member', ...change }))
      roster = { ...roster, seq: entries.length - 1, head: entryHash(entries.at(-1)!) }
    }
    const full = verifyRoster(connection, entries, logs)
    assert.equal(full.members.length, 200)
    const { person, device } = people[0]!
    const consent = consentTo(full, A, person, device)
    const last = { member: person.account, memberLog: memberLog(person), consent }
    const one = { roster: full, keyLogs: logs, role: 'member' as const, ...last, ...signer(A, a2) }
    refused(() => addMember(one), 'too_many_members', 200)
  })
})
