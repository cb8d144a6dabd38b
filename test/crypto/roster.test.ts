/**
 * Tests the effect of each op of a roster, the builders of entries, and two histories of one
 * roster.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { Refusal, type RefusalReason } from '../../src/crypto/refusal.ts'
import {
  addMember,
  changeRole,
  confirmMember,
  leave,
  removeMember,
  rotate,
  verifyRoster,
  type Roster,
} from '../../src/crypto/logs/roster.ts'
import { consentTo, opening, place, rosterEntry, signer } from './builders.ts'
import {
  A,
  added,
  alone,
  B,
  byA,
  C,
  connection,
  consentOf,
  D,
  devices,
  E,
  k,
  keyLogs,
  left,
} from './people.ts'
import { after, memberLog, three, two, withEntry } from './people.ts'

const { a1, a2, b1, d2, e1 } = devices
const who = ({ members }: Roster) => members.map(({ account, role }) => [account, role])
const [a, b, c] = [A.account, B.account, C.account]
const refused = (attempt: () => unknown, reason: RefusalReason, entry?: number) =>
  assert.throws(attempt, (error: Refusal) => {
    assert.deepEqual([error.reason, error.details.entry], [reason, entry])
    return true
  })

describe('an op', () => {
  test('add: one more member in the same epoch', () => {
    assert.deepEqual(who(three), [
      [a, 'owner'],
      [b, 'member'],
      [c, 'member'],
    ])
    assert.deepEqual([three.seq, three.epoch, three.rotationPending], [2, 1, false])
    assert.deepEqual(three.epochHead, alone.head)
  })
  test('remove: a new epoch without the member', () => {
    const roster = three
    const removed = withEntry(three, removeMember({ roster, keyLogs, member: b, k: k(2), ...byA }))
    assert.deepEqual(who(removed), [
      [a, 'owner'],
      [c, 'member'],
    ])
    assert.deepEqual([removed.epoch, removed.rotationPending], [2, false])
    assert.deepEqual(removed.epochHead, removed.head)
    assert.equal(removed.kCommit, keyCommitment(connection, 2, k(2)))
  })
  test('leave: the same epoch, in which a rotation is pending', () => {
    assert.deepEqual(who(left), [
      [a, 'owner'],
      [b, 'member'],
    ])
    assert.deepEqual([left.epoch, left.rotationPending], [1, true])
    assert.equal(left.kCommit, alone.kCommit)
  })
  test('rotate: a new epoch, by any member', () => {
    const rotated = withEntry(left, rotate({ roster: left, keyLogs, k: k(2), ...signer(B, b1) }))
    assert.deepEqual(who(rotated), who(left))
    assert.deepEqual([rotated.epoch, rotated.rotationPending], [2, false])
    assert.equal(rotated.kCommit, keyCommitment(connection, 2, k(2)))
  })
  test('role: another owner, after whom the first can leave', () => {
    const role = changeRole({ roster: two, keyLogs, member: b, role: 'owner', ...byA })
    const owned = withEntry(two, role)
    assert.deepEqual(who(owned), [
      [a, 'owner'],
      [b, 'owner'],
    ])
    assert.deepEqual(who(withEntry(owned, leave({ roster: owned, keyLogs, ...byA }))), [
      [b, 'owner'],
    ])
  })
  test('by a device added later, after which the earlier one signs nothing', () => {
    const rotated = withEntry(two, rotate({ roster: two, keyLogs, k: k(2), ...signer(A, a2) }))
    assert.deepEqual(rotated.members[0]!.logSeq, 2)
    refused(() => rotate({ roster: rotated, keyLogs, k: k(3), ...byA }), 'actor_log_back', 3)
  })
  test('by a member removed and added again, with an actor_log that continues from before', () => {
    const owned = withEntry(
      two,
      changeRole({ roster: two, keyLogs, member: b, role: 'owner', ...byA }),
    )
    const rotated = withEntry(owned, rotate({ roster: owned, keyLogs, k: k(2), ...signer(A, a2) }))
    const byB = signer(B, b1)
    const gone = removeMember({ roster: rotated, keyLogs, member: a, k: k(3), ...byB })
    const without = withEntry(rotated, gone)
    const consent = consentTo(without, B, A, a1, 0)
    const back = { member: a, memberLog: memberLog(A), role: 'member' as const, consent }
    const again = withEntry(without, addMember({ roster: without, keyLogs, ...back, ...byB }))
    assert.equal(again.members[1]!.logSeq, 2)
    refused(() => rotate({ roster: again, keyLogs, k: k(4), ...byA }), 'actor_log_back', 6)
  })
  test('by a reset account, once an owner has confirmed it', () => {
    const roster = added(two, D)
    const byD = signer(D, d2)
    refused(() => rotate({ roster, keyLogs, k: k(2), ...byD }), 'generation_unconfirmed', 3)
    const of = { roster, keyLogs, member: D.account, memberLog: memberLog(D, 1), k: k(2), ...byA }
    const confirmed = withEntry(roster, confirmMember(of))
    assert.deepEqual([confirmed.epoch, confirmed.members.at(-1)!.generation], [2, 2])
    const rotated = withEntry(confirmed, rotate({ roster: confirmed, keyLogs, k: k(3), ...byD }))
    assert.equal(rotated.epoch, 3)
  })
})

describe('a builder', () => {
  test('makes the entry of the document', () => {
    const of = { roster: two, keyLogs, ...byA }
    const [member, actor_log, consent] = [C.account, place(A, 0), consentOf(two, C)]
    const made: [string, object][] = [
      [
        addMember({ ...of, member, memberLog: memberLog(C), role: 'owner', consent }),
        { op: 'add', member, member_log: place(C, 0), role: 'owner', consent },
      ],
      [
        removeMember({ ...of, member: b, k: k(2) }),
        { op: 'remove', member: b, ...opening(two, k(2)) },
      ],
      [changeRole({ ...of, member: b, role: 'owner' }), { op: 'role', member: b, role: 'owner' }],
      [rotate({ ...of, k: k(2) }), { op: 'rotate', ...opening(two, k(2)) }],
    ]
    for (const [entry, change] of made) {
      assert.deepEqual(
        payloadOf(entry),
        payloadOf(rosterEntry(two, A, a1, { ...change, actor_log })),
      )
    }
    const gone = leave({ roster: two, keyLogs, ...signer(B, b1) })
    assert.deepEqual(payloadOf(gone), payloadOf(rosterEntry(two, B, b1, { op: 'leave' })))
  })

  const of = { roster: three, keyLogs }
  const [byA2, byB] = [signer(A, a2), signer(B, b1)]
  const table: [string, () => string, RefusalReason][] = [
    ['another owner', () => changeRole({ ...of, member: b, role: 'owner', ...byB }), 'not_owner'],
    ['leaving without another owner', () => leave({ ...of, ...byA }), 'last_owner'],
    ['a removal of oneself', () => removeMember({ ...of, member: a, k: k(2), ...byA }), 'bad_op'],
    [
      'a member removed twice',
      () => removeMember({ ...of, member: E.account, k: k(2), ...byA }),
      'not_member',
    ],
    ['K of 31 bytes', () => rotate({ ...of, k: k(2).subarray(1), ...byA }), 'bad_length'],
    ['a time before 1970', () => rotate({ ...of, k: k(2), ...byA, at: -1 }), 'bad_value'],
    ['half a second', () => rotate({ ...of, k: k(2), ...byA, at: 0.5 }), 'bad_value'],
    ['another key', () => rotate({ ...of, k: k(2), ...byA2, seed: byA.seed }), 'bad_signature'],
    ['another device', () => rotate({ ...of, k: k(2), ...byA2, device: b1.id }), 'unknown_signer'],
    ['a revoked device', () => rotate({ ...of, k: k(2), ...signer(A, a1) }), 'revoked_signer'],
    [
      'no key logs',
      () => rotate({ ...of, keyLogs: new Map(), k: k(2), ...byA }),
      'actor_log_mismatch',
    ],
  ]
  for (const [name, build, reason] of table) {
    test(`rejects ${name}: ${reason}`, () => assert.throws(build, { reason }))
  }
})

describe('two histories', () => {
  const byOwner = rosterEntry(two, A, a2, { op: 'rotate', ...opening(two, k(2)) })
  const byMember = rosterEntry(two, B, b1, { op: 'rotate', ...opening(two, k(3)) })
  const byNobody = rosterEntry(two, E, e1, { op: 'rotate', ...opening(two, k(4)) })
  const longer = withEntry(two, byOwner)
  const last = rosterEntry(longer, B, b1, { op: 'leave' })
  const seen = { seq: 2, head: entryHash(byOwner) }
  const entries = [...longer.entries, last]

  test('both valid: a fork, reported at the second', () => {
    refused(() => after([...entries, byMember]), 'roster_forked', 4)
    refused(() => after([...longer.entries, byMember, last]), 'roster_forked', 3)
  })
  test('the second invalid: rejected, and no fork', () => {
    refused(() => after([...entries, byNobody]), 'not_member', 4)
    const early = rosterEntry(alone, B, b1, { op: 'rotate', ...opening(alone, k(2)) })
    refused(() => after([...entries, early]), 'not_member', 4)
  })
  test('one of them cached: a fork, even if the other continues wrongly', () => {
    const known = (list: string[]) => () => verifyRoster(connection, list, keyLogs, seen)
    assert.equal(known(entries)().seq, 3)
    refused(known([...two.entries, byMember]), 'roster_forked', 2)
    refused(known([...two.entries, byMember, last]), 'roster_forked', 2)
    refused(known([...two.entries, byNobody]), 'not_member', 2)
    refused(known([...two.entries]), 'rollback')
  })
  test('the cached one longer: a fork if it is completely cached', () => {
    const all = { seq: 3, head: entryHash(last), heads: entries.map(entryHash) }
    const known = (list: string[]) => () => verifyRoster(connection, list, keyLogs, all)
    assert.equal(known(entries)().seq, 3)
    refused(known([...two.entries, byMember]), 'roster_forked', 2)
    refused(known([...two.entries, byNobody]), 'not_member', 2)
    refused(known(longer.entries.slice()), 'rollback')
  })
})

const payloadOf = (jws: string): unknown =>
  JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString())
