/**
 * Tests a roster together with the newest key logs: who gets K, what is suspended, what is due.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  accountsInRoster,
  addMember,
  changeRole,
  confirmMember,
  heldMembers,
  isHeld,
  leave,
  openEntry,
  recipientsOf,
  removeMember,
  rotate,
  rotationDue,
  unconfirmedMembers,
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
  newRecoveryKey,
  opening,
  protect,
  reset,
  revoke,
  rosterEntry,
  signer,
  type Person,
  type TestDevice,
} from './builders.ts'
import { A, B, C, devices, left, three, two, withEntry } from './people.ts'

const k = new Uint8Array(32)

/** Returns the owner and a member of a connection, with two devices each. */
function pair() {
  const [o1, o2, m1, m2] = [newDevice(), newDevice(), newDevice(), newDevice()]
  const [owner, member] = [newPerson(o1), newPerson(m1)]
  add(owner, o2, o1)
  add(member, m2, m1)
  const logs = () => logsOf(owner, member)
  const connection = newConnection()
  const open = openEntry({ connection, k, ...signer(owner, o1) })
  let roster = verifyRoster(connection, [open], logs())
  /** Makes the next entry of the current roster. */
  const next = <T extends object>(
    build: (of: { roster: Roster; keyLogs: ReturnType<typeof logs> } & T & typeof by) => string,
    of: T,
    [person, device]: [Person, TestDevice],
  ) => {
    const entry = build({ roster, keyLogs: logs(), ...of, ...signer(person, device) })
    roster = verifyRoster(connection, [...roster.entries, entry], logs())
  }
  const by = signer(owner, o1)
  const taken = (device: TestDevice, role: RosterRole = 'member') => ({
    member: member.account,
    memberLog: member.log,
    role,
    consent: consentTo(roster, owner, member, device),
  })
  next(addMember, taken(m1), [owner, o1])
  const now = () => ({ roster, keyLogs: logs() })
  const due = () => [owner, member].map(({ account }) => rotationDue(roster, logs(), account))
  const to = () => recipientsOf(roster, logs()).map(({ device }) => device.id)
  const held = () => heldMembers(roster, logs())
  const unconfirmed = () => unconfirmedMembers(roster, logs())
  const rowsOf = () => {
    const payload = roster.entries.at(-1)!.split('.')[1]!
    const { logs: rows } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
      logs?: { account: string; seq: number }[]
    }
    return rows?.map(({ account, seq }) => [account, seq]) ?? null
  }
  return { o1, o2, m1, m2, owner, member, next, now, taken, due, to, held, unconfirmed, rowsOf }
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
  test('no device of an account reset without its recovery key, until an owner confirms it', () => {
    const { o1, o2, owner, member, next, to, unconfirmed } = pair()
    const m3 = newDevice()
    reset(member, m3)
    assert.deepEqual(to(), [o1.id, o2.id])
    assert.deepEqual(unconfirmed(), [member.account])
    next(confirmMember, { member: member.account, memberLog: member.log, k }, [owner, o1])
    assert.deepEqual(to(), [o1.id, o2.id, m3.id])
    assert.deepEqual(unconfirmed(), [])
  })
  test('the new device of an account reset with its recovery key', () => {
    const { o1, o2, m1, member, to, unconfirmed } = pair()
    const [recovery, m3] = [newRecoveryKey(), newDevice()]
    protect(member, recovery, m1)
    reset(member, m3, recovery)
    assert.deepEqual(to(), [o1.id, o2.id, m3.id])
    assert.deepEqual(unconfirmed(), [])
  })
  test('no device of an account if a row of the epoch names an unknown place', () => {
    const { o1, o2, m1, m2, owner, member, next, now, to } = pair()
    const before = logsOf(owner, { ...member })
    revoke(member, m2, m1)
    next(rotate, { k }, [owner, o1])
    const { connection, entries } = now().roster
    const there = recipientsOf(verifyRoster(connection, entries, before), before)
    assert.deepEqual(
      there.map(({ device }) => device.id),
      [o1.id, o2.id],
    )
    assert.deepEqual(to(), [o1.id, o2.id, m1.id])
  })
  test('no account with an unknown log', () => {
    const accounts = recipientsOf(two, logsOf(A)).map(({ account }) => account)
    assert.deepEqual(new Set(accounts), new Set([A.account]))
  })
})

describe('a connection is suspended', () => {
  test('after a member left, until a rotation', () => {
    const { m1, o1, owner, member, next, due, now } = pair()
    next(leave, {}, [member, m1])
    assert.deepEqual(due(), ['now', null])
    assert.equal(isHeld(now().roster, now().keyLogs), true)
    next(rotate, { k }, [owner, o1])
    assert.deepEqual(due(), [null, null])
    assert.equal(isHeld(now().roster, now().keyLogs), false)
  })
  test('after a revocation, until any member rotates and names its place', () => {
    const { o1, m1, m2, owner, member, next, due, held, rowsOf } = pair()
    assert.deepEqual([due(), held()], [[null, null], []])
    revoke(member, m1, m2)
    assert.deepEqual([due(), held()], [['later', 'now'], [member.account]])
    next(rotate, { k }, [owner, o1])
    assert.deepEqual(rowsOf(), [[member.account, 2]])
    assert.deepEqual([due(), held()], [[null, null], []])
    revoke(member, m2, m2)
    assert.deepEqual(held(), [member.account], 'a later revocation holds again')
  })
  test('until the own devices of the account rotate, which needs no row', () => {
    const { m1, m2, member, next, held, rowsOf } = pair()
    revoke(member, m1, m2)
    next(rotate, { k }, [member, m2])
    assert.deepEqual([held(), rowsOf()], [[], null])
  })
  test('also after the account signed an entry without a new epoch, as the revoked device has K', () => {
    const { o1, o2, owner, member, next, held } = pair()
    revoke(owner, o1, o2)
    next(changeRole, { member: member.account, role: 'owner' as const }, [owner, o2])
    assert.deepEqual(held(), [owner.account])
    next(rotate, { k }, [owner, o2])
    assert.deepEqual(held(), [])
  })
  test('not by a revocation before the member was added', () => {
    const { o1, m1, m2, owner, member, next, taken, held } = pair()
    revoke(member, m1, m2)
    next(removeMember, { member: member.account, k }, [owner, o1])
    assert.deepEqual(held(), [])
    next(addMember, taken(m2), [owner, o1])
    assert.deepEqual(held(), [])
  })
  test('after a reset, until a member rotates or an owner confirms the account', () => {
    const { o1, owner, member, next, due, held, unconfirmed, rowsOf } = pair()
    reset(member, newDevice())
    assert.deepEqual([held(), due()], [[member.account], ['later', null]])
    next(rotate, { k }, [owner, o1])
    assert.deepEqual(rowsOf(), [[member.account, 2]])
    assert.deepEqual([held(), unconfirmed()], [[], [member.account]])
    next(confirmMember, { member: member.account, memberLog: member.log, k }, [owner, o1])
    assert.deepEqual([held(), unconfirmed(), rowsOf()], [[], [], null])
  })
  test('after every device signed out, until a rotation', () => {
    const { m1, m2, o1, owner, member, next, held } = pair()
    revoke(member, m1, m1)
    revoke(member, m2, m2)
    assert.deepEqual(held(), [member.account])
    next(rotate, { k }, [owner, o1])
    assert.deepEqual(held(), [])
    reset(member, newDevice())
    assert.deepEqual(held(), [member.account])
  })
  test('when an owner removed itself, as it chose the secret', () => {
    const keyLogs = logsOf(A, B, C)
    const of = { roster: three, keyLogs, member: B.account, role: 'owner' as const }
    const before = withEntry(three, changeRole({ ...of, ...signer(A, devices.a2) }))
    const entry = { op: 'remove', member: A.account, ...opening(before, k) }
    const gone = withEntry(before, rosterEntry(before, A, devices.a2, entry))
    assert.equal(gone.rotationPending, true)
    for (const { account } of [B, C]) assert.equal(rotationDue(gone, keyLogs, account), 'now')
  })
})

describe('the accounts of entries', () => {
  test('are those that sign and those that are named, each once', () => {
    const accounts = [A.account, B.account, C.account]
    assert.deepEqual(accountsInRoster(three.entries), accounts)
    assert.deepEqual(accountsInRoster(left.entries), accounts)
    assert.deepEqual(accountsInRoster([]), [])
  })
  test('are not verified', () => {
    const [header, payload] = three.entries[1]!.split('.')
    assert.deepEqual(accountsInRoster([`${header}.${payload}.AAAA`]), [A.account, B.account])
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
      assert.throws(() => accountsInRoster([...three.entries, entry]), { reason }))
  }
})
