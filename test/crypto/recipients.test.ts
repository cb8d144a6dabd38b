/** What the newest key logs make of a roster: who gets K, what is due, who is to be confirmed. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  accountsOf,
  addMember,
  changedMembers,
  changeRole,
  heldBack,
  openEntry,
  recipientsOf,
  removeMember,
  rotate,
  rotationDue,
  verifyRoster,
  type KeyLogs,
  type Role,
  type Roster,
} from '../../src/crypto/roster.ts'
import {
  add,
  logsOf,
  newConnection,
  newDevice,
  newPerson,
  opening,
  reset,
  revoke,
  rosterEntry,
  signer,
  type Person,
  type TestDevice,
} from './builders.ts'
import { A, B, C, devices, E, left, three, two, withEntry } from './people.ts'

const k = new Uint8Array(32)

/** One who owns a connection, and one who is a member of it, with two devices each. */
function pair() {
  const [o1, o2, m1, m2] = [newDevice(), newDevice(), newDevice(), newDevice()]
  const [owner, member] = [newPerson(o1), newPerson(m1)]
  add(owner, o2, o1)
  add(member, m2, m1)
  const logs = () => logsOf(owner, member)
  const connection = newConnection()
  const open = openEntry({ connection, k, ...signer(owner, o1) })
  let roster = verifyRoster(connection, [open], logs())
  /** Makes the next entry of the roster as it stands. */
  const next = <T extends object>(
    build: (of: { roster: Roster; keyLogs: ReturnType<typeof logs> } & T & typeof by) => string,
    of: T,
    [person, device]: [Person, TestDevice],
  ) => {
    const entry = build({ roster, keyLogs: logs(), ...of, ...signer(person, device) })
    roster = verifyRoster(connection, [...roster.entries, entry], logs())
  }
  const by = signer(owner, o1)
  const taken = (role: Role = 'member') => ({ member: member.account, memberLog: member.log, role })
  next(addMember, taken(), [owner, o1])
  const now = () => ({ roster, keyLogs: logs() })
  const due = () => [owner, member].map(({ account }) => rotationDue(roster, logs(), account))
  const to = () => recipientsOf(roster, logs()).map(({ device }) => device.id)
  const changed = () => changedMembers(roster, logs())
  return { o1, o2, m1, m2, owner, member, next, now, taken, due, to, changed }
}

describe('K is sealed to', () => {
  test('every active device of the members, those named since among them', () => {
    const { o1, o2, m1, m2, member, to } = pair()
    assert.deepEqual(to(), [o1.id, o2.id, m1.id, m2.id])
    const m3 = newDevice()
    add(member, m3, m2)
    assert.deepEqual(to(), [o1.id, o2.id, m1.id, m2.id, m3.id])
  })
  test('no device that is revoked, and none of a former member', () => {
    const { o1, o2, m1, m2, owner, member, next, to } = pair()
    revoke(member, m1, m2)
    assert.deepEqual(to(), [o1.id, o2.id, m2.id])
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.deepEqual(to(), [o1.id, o2.id])
  })
  test('no device of a reset account, until an owner has confirmed it', () => {
    const { o1, o2, owner, member, next, taken, to, changed } = pair()
    const m3 = newDevice()
    reset(member, m3)
    assert.deepEqual(to(), [o1.id, o2.id])
    assert.deepEqual(changed(), [member.account])
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.deepEqual(changed(), [])
    next(addMember, taken(), [owner, o1])
    assert.deepEqual(to(), [o1.id, o2.id, m3.id])
    assert.deepEqual(changed(), [])
  })
  test('nobody whose log is not known', () => {
    const devices = recipientsOf(two, logsOf(A)).map(({ account }) => account)
    assert.deepEqual(new Set(devices), new Set([A.account]))
  })
})

describe('a rotation is due', () => {
  test('of everybody when somebody left', () => {
    const keyLogs = logsOf(A, B, C)
    for (const { account } of [A, B, E]) {
      assert.deepEqual([rotationDue(left, keyLogs, account)], [true])
      assert.equal(rotationDue(three, logsOf(B, C), account), false)
    }
  })
  test('of an account that revoked a device, until it signed one', () => {
    const { o1, o2, m1, m2, owner, member, next, due } = pair()
    assert.deepEqual(due(), [false, false])
    revoke(member, m1, m2)
    assert.deepEqual(due(), [false, true])
    // Somebody else's does not bind the log of this account, so the revoked device could still sign.
    next(rotate, { k }, [owner, o1])
    assert.deepEqual(due(), [false, true])
    next(rotate, { k }, [member, m2])
    assert.deepEqual(due(), [false, false])
    revoke(owner, o1, o2)
    assert.deepEqual(due(), [true, false])
  })
  test('also after it signed something else, for the revoked device has K', () => {
    const { o1, o2, owner, member, next, due } = pair()
    revoke(owner, o1, o2)
    next(changeRole, { member: member.account, role: 'owner' as const }, [owner, o2])
    assert.deepEqual(due(), [true, false])
    next(rotate, { k }, [owner, o2])
    assert.deepEqual(due(), [false, false])
  })
  test('of nobody who was taken in after the revocation', () => {
    const { o1, m1, m2, owner, member, next, taken, due } = pair()
    revoke(member, m1, m2)
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.deepEqual(due(), [false, false])
    next(addMember, taken(), [owner, o1])
    assert.deepEqual(due(), [false, false])
  })
  test('of everybody when an owner removed itself, for it chose the secret', () => {
    const owned = changeRole({
      roster: three,
      keyLogs: logsOf(A, B, C),
      member: B.account,
      role: 'owner',
      ...signer(A, devices.a2),
    })
    const before = withEntry(three, owned)
    const entry = { op: 'remove', member: A.account, ...opening(before, k) }
    const gone = withEntry(before, rosterEntry(before, A, devices.a2, entry))
    assert.deepEqual(
      gone.members.map(({ account }) => account),
      [B.account, C.account],
    )
    assert.equal(gone.rotationPending, false)
    for (const { account } of [B, C])
      assert.equal(rotationDue(gone, logsOf(A, B, C), account), true)
  })
  test('of no account whose reset is not confirmed: it signs nothing', () => {
    const { member, due } = pair()
    reset(member, newDevice())
    assert.deepEqual(due(), [false, false])
  })
})

describe('nothing verifies', () => {
  const held = (by: Person, { roster, keyLogs }: { roster: Roster; keyLogs: KeyLogs }) =>
    heldBack(roster, keyLogs, by.account)

  test('while somebody else has to rotate after a revocation', () => {
    const { o1, m1, m2, owner, member, next, now } = pair()
    assert.equal(held(owner, now()), false)
    revoke(member, m1, m2)
    assert.deepEqual([held(owner, now()), held(member, now())], [true, true])
    next(rotate, { k }, [owner, o1])
    assert.equal(held(owner, now()), true)
    next(rotate, { k }, [member, m2])
    assert.deepEqual([held(owner, now()), held(member, now())], [false, false])
  })
  test('after a device signed itself out, as a thief can have it do: until its account rotates', () => {
    const { m1, m2, owner, member, next, now } = pair()
    revoke(member, m1, m1)
    assert.deepEqual([held(owner, now()), held(member, now())], [true, true])
    next(rotate, { k }, [member, m2])
    assert.deepEqual([held(owner, now()), held(member, now())], [false, false])
  })
  test('also where the account has no device left to rotate: until it is removed', () => {
    const { o1, m1, m2, owner, member, next, now } = pair()
    revoke(member, m1, m2)
    revoke(member, m2, m2)
    assert.equal(held(owner, now()), true)
    next(rotate, { k }, [owner, o1])
    assert.equal(held(owner, now()), true, 'to whom it was sealed, the roster does not say')
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.equal(held(owner, now()), false)
  })
  test('after a reset, for the lost devices have K: until an owner takes the account in anew', () => {
    const { o1, owner, member, next, taken, now } = pair()
    reset(member, newDevice())
    assert.deepEqual([held(owner, now()), held(member, now())], [true, true])
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.equal(held(owner, now()), false)
    next(addMember, taken(), [owner, o1])
    assert.deepEqual([held(owner, now()), held(member, now())], [false, false])
  })
  test('after every device signed out: until an owner removes the account or takes it in anew', () => {
    const { m1, m2, o1, owner, member, next, taken, now } = pair()
    revoke(member, m1, m1)
    revoke(member, m2, m2)
    next(rotate, { k }, [owner, o1])
    assert.equal(held(owner, now()), true, 'to whom it was sealed, the roster does not say')
    reset(member, newDevice())
    assert.equal(held(owner, now()), true)
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.equal(held(owner, now()), false)
    next(addMember, taken(), [owner, o1])
    assert.deepEqual([held(owner, now()), held(member, now())], [false, false])
  })
  test('but not for a device of a generation that no owner confirmed: it never had K', () => {
    const { m1, m2, o1, owner, member, next, taken, now } = pair()
    revoke(member, m1, m1)
    revoke(member, m2, m2)
    next(removeMember, { member: member.account, k }, [owner, o1])
    next(addMember, taken(), [owner, o1])
    reset(member, newDevice())
    reset(member, newDevice())
    assert.equal(held(owner, now()), false)
  })
})

describe('the accounts of entries', () => {
  test('are those that sign and those that are named, each once', () => {
    const accounts = [A.account, B.account, C.account]
    assert.deepEqual(accountsOf(three.entries), accounts)
    assert.deepEqual(accountsOf(left.entries), accounts)
    assert.deepEqual(accountsOf([]), [])
  })
  test('are not verified', () => {
    const [header, payload] = three.entries[1]!.split('.')
    assert.deepEqual(accountsOf([`${header}.${payload}.AAAA`]), [A.account, B.account])
  })
  const [header, payload, signature] = three.entries[1]!.split('.')
  const table: [string, string, string][] = [
    ['nothing', '', 'malformed'],
    ['two parts', `${header}.${payload}`, 'malformed'],
    ['no object', `${header}.MQ.${signature}`, 'bad_json'],
    ['an entry of a key log', A.log.entries[0]!, 'wrong_typ'],
  ]
  for (const [name, entry, reason] of table) {
    test(`are not read from ${name}: ${reason}`, () =>
      assert.throws(() => accountsOf([...three.entries, entry]), { reason }))
  }
})
