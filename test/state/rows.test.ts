/**
 * Tests the modules of rows. Each case reads twice what it wrote: at once, and after the state
 * was opened again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VerificationEntry } from '../../src/api/rest/verify.ts'
import { openState } from '../../src/state/state.ts'
import type { State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** Runs `write` in a new state, then `read` in that state and again after it was reopened. */
function testRow(what: string, write: (state: State) => void, read: (state: State) => void): void {
  test(what, (t) => {
    const dir = freshFolder(t)
    const state = openState(dir)
    try {
      write(state)
      read(state)
    } finally {
      state.close()
    }
    const again = openState(dir)
    try {
      read(again)
    } finally {
      again.close()
    }
  })
}

// Rows from SQLite have no prototype.
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

const VALUES = { text: 'zwölf', zero: 0, no: false, nothing: null, tree: { a: [1, { b: 2 }] } }

testRow(
  'meta: stores, replaces and deletes any JSON value',
  ({ meta }) => {
    for (const [key, value] of Object.entries(VALUES)) meta.set(key, value)
    meta.set('changed', 'old')
    meta.set('changed', 'new')
    meta.set('gone', 1)
    meta.delete('gone')
    meta.delete('never')
  },
  ({ meta }) => {
    for (const [key, value] of Object.entries(VALUES)) assert.deepEqual(meta.get(key), value)
    assert.equal(meta.get('changed'), 'new')
    assert.equal(meta.get('gone'), null)
  },
)

testRow(
  'tokens: revoked once, last use only increases, newest first',
  ({ tokens }) => {
    tokens.insert({ hash: 'a', id: 'tok_1', created_at: 1 }, 'name')
    tokens.insert({ hash: 'b', id: 'tok_2', created_at: 2 }, 'name')
    assert.throws(() => tokens.insert({ hash: 'a', id: 'tok_3', created_at: 3 }, 'name'), /UNIQUE/)
    assert.throws(() => tokens.insert({ hash: 'c', id: 'tok_2', created_at: 3 }, 'name'), /UNIQUE/)
    tokens.revoke('tok_1', 10, 'name')
    tokens.revoke('tok_1', 20, 'name')
    tokens.revoke('tok_9', 20, 'name')
    tokens.touch([
      { id: 'tok_1', at: 30 },
      { id: 'tok_2', at: 31 },
    ])
    tokens.touch([{ id: 'tok_2', at: 7 }])
  },
  ({ tokens }) => {
    const first = { hash: 'a', id: 'tok_1', created_at: 1, revoked_at: 10, last_used_at: 30 }
    const second = { hash: 'b', id: 'tok_2', created_at: 2, revoked_at: null, last_used_at: 31 }
    assert.deepEqual(plain(tokens.all()), [second, first])
  },
)

testRow(
  'secrets: stores, replaces and deletes sealed bytes unchanged',
  ({ secrets }) => {
    secrets.put({ id: 'b', version: 1, sealed: new Uint8Array([1]) })
    secrets.put({ id: 'a', version: 1, sealed: new Uint8Array([2]) })
    secrets.put({ id: 'a', version: 2, sealed: new Uint8Array([0, 255]) })
    secrets.put({ id: 'gone', version: 1, sealed: new Uint8Array([3]) })
    assert.equal(secrets.delete('gone'), true)
    assert.equal(secrets.delete('gone'), false)
  },
  ({ secrets }) => {
    assert.deepEqual(secrets.ids(), ['a', 'b'])
    assert.deepEqual(
      { ...secrets.get('a') },
      { id: 'a', version: 2, sealed: new Uint8Array([0, 255]) },
    )
    assert.equal(secrets.get('gone'), null)
  },
)

const connection = (id: string, epoch: number) => ({
  id,
  name: `name of ${id}`,
  epoch,
  head: new Uint8Array(32).fill(epoch),
  members: [{ user_id: 'acc_1', display_name: 'Ada "the first" Łovelace' }],
  hold: null,
  updated_at: epoch,
})

testRow(
  'connections: replaced whole, renamed, deleted, listed in pages; checks heads and holds',
  ({ connections }) => {
    connections.put(connection('con_1', 1))
    connections.put(connection('con_1', 2))
    connections.put(connection('con_2', 1))
    connections.put(connection('con_3', 1))
    const short = { ...connection('con_4', 1), head: new Uint8Array(31) }
    assert.throws(() => connections.put(short), /CHECK/)
    const hold = 'moody' as 'roster_forked'
    assert.throws(() => connections.put({ ...connection('con_4', 1), hold }), /CHECK/)
    connections.put({ ...connection('con_5', 1), hold: 'roster_forked' })
    connections.put({ ...connection('con_6', 1), hold: 'roster_forked' })
    connections.put({ ...connection('con_6', 1), hold: 'rotation_pending' })
    connections.put({ ...connection('con_7', 1), hold: 'roster_forked' })
    connections.put(connection('con_7', 1))
    connections.put({ ...connection('con_2', 1), name: 'other', updated_at: 9 })
    assert.equal(connections.delete('con_3'), true)
    assert.equal(connections.delete('con_3'), false)
  },
  ({ connections }) => {
    const renamed = { ...connection('con_2', 1), name: 'other', updated_at: 9 }
    assert.deepEqual(connections.all(), [
      connection('con_7', 1),
      { ...connection('con_6', 1), hold: 'rotation_pending' },
      { ...connection('con_5', 1), hold: 'roster_forked' },
      renamed,
      connection('con_1', 2),
    ])
    assert.equal(connections.count(), 5)
    assert.deepEqual(
      [connections.page('', 2), connections.page('con_2', 2), connections.page('con_7', 2)],
      [['con_1', 'con_2'], ['con_5', 'con_6'], []],
    )
    assert.deepEqual(connections.get('con_2'), renamed)
    assert.equal(connections.get('con_3'), null)
  },
)

const guest = (
  id: string,
  label: string,
  external: { id: string; name: string } | null = null,
) => ({
  id,
  label,
  state: 'active' as const,
  expires_at: 5e12,
  created_at: 4e12,
  external_member_id: external?.id ?? null,
  external_member_name: external?.name ?? null,
})
const mum = { id: 'ext_1', name: 'Maria Muster' }

testRow(
  'guests: replaced, ended, deleted; an ended one has no external member; times beyond 32 bits',
  ({ guests }) => {
    guests.put(guest('gst_1', 'old'))
    guests.put(guest('gst_1', 'new', mum))
    guests.put(guest('gst_2', 'two', mum))
    guests.put(guest('gst_3', 'three'))
    assert.equal(guests.end('gst_2', 'revoked'), true)
    assert.equal(guests.end('gst_9', 'revoked'), false)
    assert.equal(guests.delete('gst_3'), true)
    assert.equal(guests.delete('gst_3'), false)
  },
  ({ guests }) => {
    const revoked = { ...guest('gst_2', 'two'), state: 'revoked' }
    assert.deepEqual(plain(guests.all()), [revoked, guest('gst_1', 'new', mum)])
    assert.deepEqual(plain(guests.get('gst_2')), revoked)
    assert.equal(guests.get('gst_3'), null)
  },
)

testRow(
  'logs: accepts only the next entry, and replaces none',
  ({ logs }) => {
    const add = (seq: number, entry: string) => () =>
      logs.append({ kind: 'keylog', subject: 'acc_1', seq, entry })
    assert.throws(add(1, 'one'), /continues at 0, not 1/)
    assert.throws(add(-1, 'minus'), /continues at 0/)
    add(0, 'zero')()
    add(1, 'one')()
    add(0, 'zero')()
    assert.throws(add(0, 'forked'), /another entry at 0/)
    assert.throws(add(1, 'forked'), /another entry at 1/)
    assert.throws(add(3, 'three'), /continues at 2, not 3/)
    logs.append({ kind: 'roster', subject: 'acc_1', seq: 0, entry: 'of another kind' })
    logs.append({ kind: 'keylog', subject: 'acc_2', seq: 0, entry: 'of another subject' })
    logs.append({ kind: 'keylog', subject: 'gone', seq: 0, entry: 'x' })
    logs.delete('keylog', 'gone')
  },
  ({ logs }) => {
    assert.deepEqual(logs.read('keylog', 'acc_1'), ['zero', 'one'])
    assert.deepEqual({ ...logs.head('keylog', 'acc_1') }, { seq: 1, entry: 'one' })
    assert.deepEqual(logs.read('roster', 'acc_1'), ['of another kind'])
    assert.deepEqual(logs.read('keylog', 'acc_2'), ['of another subject'])
    assert.deepEqual(logs.read('keylog', 'gone'), [])
    assert.equal(logs.head('keylog', 'gone'), null)
  },
)

const use = { subject: 'con_1', epoch: 1, speaker: 'acc_1', window: 100 }

testRow(
  'replays: each of the four names makes another use; the first time is kept',
  ({ replays }) => {
    assert.equal(replays.highest(), 0)
    for (const other of [
      {},
      { subject: 'con_2' },
      { epoch: 2 },
      { speaker: 'acc_2' },
      { window: 99 },
    ]) {
      assert.equal(replays.firstUse({ ...use, ...other }, 1000), null)
    }
  },
  ({ replays }) => {
    assert.equal(replays.firstUse(use, 2000), 1000)
    assert.equal(replays.highest(), 100)
  },
)

testRow(
  'replays: pruning deletes lower windows, and never the highest',
  ({ replays }) => {
    for (const window of [98, 100, 99]) replays.firstUse({ ...use, window }, window)
    assert.equal(replays.prune(100), 2)
    assert.equal(replays.prune(100), 0)
  },
  ({ replays }) => {
    assert.equal(replays.firstUse(use, 2000), 100)
    replays.prune(1e6)
    assert.equal(replays.highest(), 100)
    assert.equal(replays.firstUse({ ...use, window: 50 }, 1), null)
    assert.equal(replays.highest(), 100)
    replays.prune(51)
    replays.firstUse(use, 100)
  },
)

const verification = (n: number): VerificationEntry => ({
  id: `ver_${n}`,
  at: '2026-11-21T00:00:00.000Z',
  method: 'local',
  outcome: 'verified',
  matches: [
    { kind: 'guest', speaker: 'other', guest_code_id: 'gst_1', display_name: 'Łuk', window: n },
  ],
  caller: n % 2 === 0 ? null : 'tok_1',
})

testRow(
  'verifications: only uploaded ones are trimmed, the oldest first',
  ({ verifications }) => {
    for (const n of [1, 2, 3, 4, 5, 6]) verifications.insert(verification(n))
    verifications.markPushed(['ver_1', 'ver_3', 'ver_4', 'ver_5', 'ver_6'])
    assert.equal(verifications.trim('ver_6', 2), 2)
    assert.deepEqual(ids(verifications.page(9, null)), ['ver_6', 'ver_5', 'ver_4', 'ver_2'])
    assert.equal(verifications.trim('ver_6', 9), 2)
  },
  ({ verifications }) => {
    assert.equal(verifications.trim('ver_6', 9), 0)
    assert.deepEqual(ids(verifications.page(9, null)), ['ver_6', 'ver_2'])
  },
)

testRow(
  'verifications: pages newest first, and unpushed ones oldest first',
  ({ verifications }) => {
    for (const n of [1, 3, 2, 5, 4]) verifications.insert(verification(n))
    assert.throws(() => verifications.insert(verification(1)), /UNIQUE/)
    verifications.markPushed(['ver_1', 'ver_3', 'ver_9'])
  },
  ({ verifications }) => {
    assert.deepEqual(verifications.page(2, null), [verification(5), verification(4)])
    assert.deepEqual(ids(verifications.page(2, 'ver_4')), ['ver_3', 'ver_2'])
    assert.deepEqual(ids(verifications.page(2, 'ver_2')), ['ver_1'])
    assert.deepEqual(verifications.page(2, 'ver_1'), [])
    assert.deepEqual(verifications.unpushed(2), [verification(2), verification(4)])
    assert.deepEqual(ids(verifications.unpushed(9)), ['ver_2', 'ver_4', 'ver_5'])
  },
)

const stamp = (n: number, receipt: string | null) => ({
  id: `stm_${n}`,
  jws: `jws ${n}`,
  receipt,
  created_at: n,
})

testRow(
  'stamps: receipts can come later; the JWS never changes',
  ({ stamps }) => {
    stamps.insert(stamp(2, null))
    stamps.insert(stamp(1, null))
    stamps.insert(stamp(3, 'at once'))
    stamps.insert(stamp(4, null))
    assert.throws(() => stamps.insert(stamp(1, 'other')), /UNIQUE/)
    assert.equal(stamps.setReceipt('stm_2', 'later'), true)
    assert.equal(stamps.setReceipt('stm_9', 'later'), false)
  },
  ({ stamps }) => {
    assert.deepEqual(ids(stamps.withoutReceipt(9)), ['stm_1', 'stm_4'])
    assert.deepEqual(plain(stamps.withoutReceipt(1)), [stamp(1, null)])
    assert.deepEqual(plain(stamps.get('stm_2')), stamp(2, 'later'))
    assert.equal(stamps.get('stm_9'), null)
  },
)

testRow(
  'approval attempts: each side separate, two at one time, set back, dropped',
  ({ approvalAttempts }) => {
    for (const at of [1, 5, 5, 90]) approvalAttempts.add('approving', at)
    approvalAttempts.add('new', 7)
    approvalAttempts.pullBack(80)
    approvalAttempts.drop(1)
  },
  ({ approvalAttempts }) => {
    assert.deepEqual(approvalAttempts.after('approving', 0), [5, 5, 80])
    assert.deepEqual(approvalAttempts.after('approving', 5), [80])
    assert.deepEqual(approvalAttempts.after('new', 0), [7])
  },
)

testRow(
  'wrong tries: counted in separate rows, reduced, ended',
  ({ wrongTries }) => {
    const counted = { caller: 'tok_1', expected: false }
    for (const uptimeMs of [5, 9.6]) wrongTries.add(counted, { uptimeMs, boot: 'b' })
    wrongTries.add({ caller: 'tok_1', expected: true }, { uptimeMs: 7, boot: null })
    const back = { caller: 'tok_2', expected: false }
    for (const uptimeMs of [5, 6]) wrongTries.add(back, { uptimeMs, boot: 'b' })
    wrongTries.takeBack(back)
    const ended = { caller: 'tok_3', expected: false }
    wrongTries.add(ended, { uptimeMs: 1, boot: 'b' })
    wrongTries.end(ended)
    // A row that does not exist cannot be taken back or ended.
    for (const caller of ['tok_3', 'tok_4']) wrongTries.takeBack({ caller, expected: true })
    wrongTries.end({ caller: 'tok_4', expected: false })
  },
  ({ wrongTries }) => {
    const of = (callers: string[], expected: boolean) => plain(wrongTries.of(callers, expected))
    const [one, two] = [
      { caller: 'tok_1', in_row: 2, paused_from: 10, boot: 'b' },
      { caller: 'tok_2', in_row: 1, paused_from: null, boot: 'b' },
    ]
    assert.deepEqual(of(['tok_1'], false), [one])
    assert.deepEqual(of(['tok_1', 'tok_2'], false), [one, two])
    assert.deepEqual(of(['tok_1', 'tok_3'], true), [
      { caller: 'tok_1', in_row: 1, paused_from: 7, boot: null },
    ])
    assert.deepEqual(of(['tok_3', 'tok_4'], false), [])
    assert.deepEqual(of(['tok_4'], true), [])
  },
)

testRow(
  'challenges: a word and a purpose while they are open',
  ({ challenges }) => {
    const at = { uptimeMs: 5.4, boot: 'b' }
    const drawn = { connection: 'con_1', caller: null }
    challenges.insert({ ...drawn, id: 'chl_1', word: 0, purpose: 'pay12' }, at)
    const ofToken = { connection: null, caller: 'tok_1' }
    challenges.insert({ ...ofToken, id: 'chl_2', word: 4095, purpose: '' }, at)
    challenges.insert({ ...drawn, id: 'chl_3', word: 7, purpose: 'x' }, at)
    challenges.close('chl_2', 'used')
    // A closed challenge keeps the state in which it was closed.
    challenges.close('chl_2', 'ended')
    challenges.delete('chl_3')
    assert.throws(
      () => challenges.insert({ ...drawn, id: 'chl_4', word: 4096, purpose: '' }, at),
      /CHECK/,
    )
  },
  ({ challenges }) => {
    const open = {
      id: 'chl_1',
      connection: 'con_1',
      caller: null,
      state: 'open',
      uptime_ms: 5,
      boot: 'b',
      word: 0,
      purpose: 'pay12',
    }
    assert.deepEqual(plain(challenges.get('chl_1')), open)
    const used = {
      ...open,
      id: 'chl_2',
      connection: null,
      caller: 'tok_1',
      state: 'used',
      word: null,
      purpose: null,
    }
    assert.deepEqual(plain(challenges.all()), [open, used])
    assert.equal(challenges.get('chl_3'), null)
  },
)

testRow(
  'listed invitations: kept as first listed, with a mark for changes; the newest are kept',
  ({ listedInvitations: rows }) => {
    const first = { connection: 'con_1', inviter: 'acc_1', changed: false, reader: null }
    rows.put({ ...first, id: 'inv_1', listed_at: 1 })
    const other = { connection: 'con_2', inviter: 'acc_2', changed: true, reader: 'tok_1' }
    rows.put({ ...other, id: 'inv_1', listed_at: 4 })
    for (const listed_at of [0, 1, 2, 3])
      rows.put({ ...first, id: `inv_old_${listed_at}`, listed_at })
    rows.dropOld(1)
    assert.deepEqual([rows.count(), rows.newest()], [4, 4])
    assert.equal(rows.dropBeyond(2), 2)
  },
  ({ listedInvitations: rows }) => {
    assert.deepEqual(plain(rows.get('inv_1')), {
      id: 'inv_1',
      connection: 'con_1',
      inviter: 'acc_1',
      changed: true,
      listed_at: 4,
      reader: 'tok_1',
    })
    assert.deepEqual(
      [0, 1, 2, 3].filter((at) => rows.get(`inv_old_${at}`) !== null),
      [3],
    )
  },
)
