/** Tests the first entry of a roster: its content, and every way in which it may be wrong. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { ZERO_HEAD } from '../../src/crypto/code.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { openEntry, verifyRoster } from '../../src/crypto/logs/roster.ts'
import { logEntry, newAccount, newConnection, sign } from './builders.ts'
import {
  account,
  at,
  connection,
  first,
  k,
  keyLogs,
  log,
  open,
  opening,
  own,
  refused,
  second,
  third,
  two,
} from './opened.ts'

describe('opening a roster', () => {
  const payload = {
    v: 2,
    connection,
    seq: 0,
    epoch: 1,
    prev: encodeBase64url(ZERO_HEAD),
    op: 'open',
    k_commit: keyCommitment(connection, 1, k),
    actor: account,
    device: first.id,
    actor_log: { seq: log.seq, head: encodeBase64url(log.head) },
    at,
  }
  test('opened', () => {
    const roster = verifyRoster(connection, [open], keyLogs, { seq: 0, head: entryHash(open) })
    assert.deepEqual(roster, {
      connection,
      seq: 0,
      head: entryHash(open),
      epoch: 1,
      epochHead: entryHash(open),
      kCommit: payload.k_commit,
      members: [{ account, role: 'owner', logSeq: 1, coveredSeq: 1, generation: 1 }],
      leavers: [],
      unfit: [],
      rotationPending: false,
      ended: false,
      replaces: null,
      entries: [open],
    })
    assert.equal(open, sign('roster+jws', first, payload))
  })

  const made = (change: object, by = first) => sign('roster+jws', by, { ...payload, ...change })
  const { k_commit: _, ...uncommitted } = payload
  const early = { actor_log: { seq: 0, head: encodeBase64url(log.heads[0]!) } }
  const table: [string, string[], RefusalReason][] = [
    ['no entry', [], 'empty'],
    ['an unknown op', [made({ op: 'close' })], 'bad_op'],
    ['two openings', [open, made({ at: 1 })], 'roster_forked'],
    [
      'opened again',
      [open, made({ seq: 1, epoch: 2, prev: encodeBase64url(entryHash(open)) })],
      'bad_op',
    ],
    ['the same entry twice', [open, open], 'duplicate_entry'],
    ['not the first', [made({ seq: 1 })], 'gap'],
    ['prev at seq 0', [made({ prev: payload.k_commit })], 'prev_mismatch'],
    ['epoch 2', [made({ epoch: 2 })], 'epoch_skip'],
    ['epoch 2^32', [made({ epoch: 2 ** 32 })], 'bad_value'],
    ['no k_commit', [sign('roster+jws', first, uncommitted)], 'missing_k_commit'],
    ['a role', [made({ role: 'owner' })], 'superfluous_member'],
    ['a member', [made({ member: account })], 'superfluous_member'],
    ['another connection', [made({ connection: newConnection() })], 'wrong_connection'],
    [
      'another connection, and not the first',
      [made({ connection: newConnection(), seq: 1 })],
      'wrong_connection',
    ],
    ['an unknown key log', [made({ actor: newAccount() })], 'actor_log_mismatch'],
    [
      'another head',
      [made({ actor_log: { seq: 0, head: payload.actor_log.head } })],
      'actor_log_mismatch',
    ],
    [
      'a later seq than the log has',
      [made({ actor_log: { seq: 9, head: payload.actor_log.head } })],
      'actor_log_mismatch',
    ],
    ['an unknown device', [made({ device: third.id }, third)], 'unknown_signer'],
    ['a device not yet added', [made({ ...early, device: second.id }, second)], 'unknown_signer'],
    ['another device', [made({}, second)], 'kid_mismatch'],
    ['the wrong typ', [sign('keylog+jws', first, payload)], 'wrong_typ'],
  ]
  for (const [name, entries, reason] of table) {
    test(`${name}: ${reason}`, () =>
      refused(() => verifyRoster(connection, entries, keyLogs), reason))
  }
  test('a revoked device: revoked_signer', () => {
    const revoked = verifyKeyLog(account, [...two, logEntry(account, two, 'revoke', first, second)])
    const entry = openEntry({ ...opening, actorLog: revoked, ...own })
    const logs = new Map([[account, revoked]])
    refused(() => verifyRoster(connection, [entry], logs), 'revoked_signer')
    // The device is not revoked at its own actor_log, so the older entry stays valid.
    assert.equal(verifyRoster(connection, [open], logs).epoch, 1)
  })
  test('cached entries must be in the list', () => {
    const seen = { seq: 0, head: new Uint8Array(32) }
    refused(() => verifyRoster(connection, [open], keyLogs, seen), 'roster_forked')
    refused(() => verifyRoster(connection, [open], keyLogs, { ...seen, seq: 1 }), 'rollback')
  })
})
