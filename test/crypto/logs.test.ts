/** Key logs, rosters and envelopes that the builders make and the verifiers read. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/base64url.ts'
import { ZERO_HEAD } from '../../src/crypto/code.ts'
import { deviceKeysFrom, publicKeys } from '../../src/crypto/device-keys.ts'
import { openEnvelope, sealEnvelope } from '../../src/crypto/envelope.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { addFirst, signerAt, verifyKeyLog } from '../../src/crypto/key-log.ts'
import type { Reason } from '../../src/crypto/refusal.ts'
import { commitment, openEntry, verifyRoster } from '../../src/crypto/roster.ts'
import { logEntry, newAccount, newConnection, newDevice, sign } from './builders.ts'

const account = newAccount()
const [first, second, third] = [newDevice(), newDevice(), newDevice()]
const at = 1767225600
const begin = addFirst({ account, device: first.id, keys: first.keys, at })
const two = [begin, logEntry(account, [begin], 'add', second, first)]
const refused = (attempt: () => unknown, reason: Reason) => assert.throws(attempt, { reason })

describe('key log', () => {
  test('of one device', () => {
    const log = verifyKeyLog(account, [begin])
    assert.deepEqual(log.heads, [hashOf(begin)])
    assert.deepEqual(log.active, [
      {
        id: first.id,
        keys: publicKeys(first.keys),
        kid: first.kid,
        addedAt: 0,
        revokedAt: null,
        generation: 1,
      },
    ])
  })
  test('addFirst refuses what its reader refuses', () => {
    const keys = { ...first.keys, auth: first.keys.sign }
    refused(() => addFirst({ account, device: first.id, keys, at }), 'duplicate_key')
    refused(() => addFirst({ account, device: account, keys: first.keys, at }), 'bad_value')
    refused(() => addFirst({ account, device: first.id, keys: first.keys, at: -1 }), 'bad_value')
  })
  test('answers who could sign at each entry', () => {
    const entries = [...two, logEntry(account, two, 'revoke', first, second)]
    entries.push(logEntry(account, entries, 'reset', third, third))
    const log = verifyKeyLog(account, entries)
    assert.equal(log.status, 'changed_unverified')
    assert.deepEqual([log.generation, log.active.map(({ id }) => id)], [2, [third.id]])
    assert.deepEqual(
      [...log.devices.values()].map(({ addedAt, revokedAt, generation }) => [
        addedAt,
        revokedAt,
        generation,
      ]),
      [
        [0, 2, 1],
        [1, 3, 1],
        [3, null, 2],
      ],
    )
    const may = [first, second, third].map(({ id }) =>
      entries.map((_, seq) => {
        try {
          return signerAt(log, id, seq).id === id ? 'yes' : 'another'
        } catch (error) {
          return (error as { reason: string }).reason
        }
      }),
    )
    const [no, gone] = ['unknown_signer', 'revoked_signer']
    assert.deepEqual(may, [
      ['yes', 'yes', gone, gone],
      [no, 'yes', 'yes', gone],
      [no, no, no, 'yes'],
    ])
  })

  const other = logEntry(account, [begin], 'add', third, first)
  const bare = { keys: { ...publicKeys(third.keys), auth: publicKeys(second.keys).sign } }
  const known = { seq: 1, head: hashOf(two[1]!) }
  const table: [string, string[], typeof known | undefined, Reason][] = [
    ['two valid successors', [...two, other], undefined, 'fork'],
    [
      'two first entries',
      [begin, addFirst({ account, device: second.id, keys: second.keys, at })],
      undefined,
      'fork',
    ],
    [
      'an invalid second successor',
      [...two, logEntry(account, [begin], 'add', third, second)],
      undefined,
      'unknown_signer',
    ],
    ['another log than was seen', [begin, other], known, 'fork'],
    ['a shorter log than was seen', [begin], known, 'rollback'],
    [
      'two keys of one',
      [
        begin,
        logEntry(account, [begin], 'add', second, first, {
          keys: { ...publicKeys(second.keys), auth: publicKeys(second.keys).sign },
        }),
      ],
      undefined,
      'duplicate_key',
    ],
    [
      'a key of a revoked device',
      [...two, logEntry(account, two, 'add', third, first, bare)],
      undefined,
      'duplicate_key',
    ],
    [
      'nothing after the last is revoked',
      [
        begin,
        logEntry(account, [begin], 'revoke', first, first),
        logEntry(
          account,
          [begin, logEntry(account, [begin], 'revoke', first, first)],
          'add',
          second,
          first,
        ),
      ],
      undefined,
      'revoked_signer',
    ],
    [
      'a first entry by another, signed by its device',
      [logEntry(account, [], 'add', first, first, { by: second.id })],
      undefined,
      'seq0_not_self_signed',
    ],
    [
      'a reset by another, signed by its device',
      [begin, logEntry(account, [begin], 'reset', second, second, { by: first.id })],
      undefined,
      'reset_not_self_signed',
    ],
    [
      'null for an absent member',
      [...two, logEntry(account, two, 'revoke', first, second, { keys: null })],
      undefined,
      'bad_value',
    ],
    [
      'a negative time',
      [begin, logEntry(account, [begin], 'add', second, first, { at: -1 })],
      undefined,
      'bad_value',
    ],
  ]
  for (const [name, entries, seen, reason] of table) {
    test(`${name}: ${reason}`, () => refused(() => verifyKeyLog(account, entries, seen), reason))
  }
})

const log = verifyKeyLog(account, two)
const keyLogs = new Map([[account, log]])
const connection = newConnection()
const k = crypto.getRandomValues(new Uint8Array(32))
const opening = { connection, actor: account, device: first.id, actorLog: log, k, at }
const own = { kid: first.kid, seed: first.keys.sign.secret }
const open = openEntry({ ...opening, ...own })

describe('roster', () => {
  const payload = {
    v: 1,
    connection,
    seq: 0,
    epoch: 1,
    prev: encodeBase64url(ZERO_HEAD),
    op: 'open',
    k_commit: commitment(connection, 1, k),
    actor: account,
    device: first.id,
    actor_log: { seq: log.seq, head: encodeBase64url(log.head) },
    at,
  }
  test('opened', () => {
    const roster = verifyRoster(connection, [open], keyLogs, { seq: 0, head: hashOf(open) })
    assert.deepEqual(roster, {
      connection,
      seq: 0,
      head: hashOf(open),
      epoch: 1,
      epochHead: hashOf(open),
      kCommit: payload.k_commit,
      members: [{ account, role: 'owner', logSeq: 1, generation: 1 }],
      rotationPending: false,
      entries: [open],
    })
    assert.equal(open, sign('roster+jws', first, payload))
  })

  const made = (change: object, by = first) => sign('roster+jws', by, { ...payload, ...change })
  const { k_commit: _, ...uncommitted } = payload
  const early = { actor_log: { seq: 0, head: encodeBase64url(log.heads[0]!) } }
  const table: [string, string[], Reason][] = [
    ['no entry', [], 'empty'],
    ['other ops are not read yet', [open, made({ op: 'leave' })], 'bad_op'],
    ['an op of nobody', [made({ op: 'close' })], 'bad_op'],
    ['two openings', [open, made({ at: 1 })], 'roster_forked'],
    [
      'opened again',
      [open, made({ seq: 1, epoch: 2, prev: encodeBase64url(hashOf(open)) })],
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
    ['a log that nobody gave', [made({ actor: newAccount() })], 'actor_log_mismatch'],
    [
      'another head',
      [made({ actor_log: { seq: 0, head: payload.actor_log.head } })],
      'actor_log_mismatch',
    ],
    [
      'a seq to come',
      [made({ actor_log: { seq: 9, head: payload.actor_log.head } })],
      'actor_log_mismatch',
    ],
    ['a device of nobody', [made({ device: third.id }, third)], 'unknown_signer'],
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
    // Unrevoked at its own actor_log, so the older entry stands.
    assert.equal(verifyRoster(connection, [open], logs).epoch, 1)
  })
  test('what was seen must be there', () => {
    const seen = { seq: 0, head: new Uint8Array(32) }
    refused(() => verifyRoster(connection, [open], keyLogs, seen), 'roster_forked')
    refused(() => verifyRoster(connection, [open], keyLogs, { ...seen, seq: 1 }), 'rollback')
  })
})

describe('envelope', () => {
  const roster = verifyRoster(connection, [open], keyLogs)
  const { epoch, epochHead } = roster
  const sealing = { connection, epoch, epochHead, k, sender: first.id, senderKid: first.kid }
  const to = { recipient: second.id, recipientSeal: second.keys.seal.jwk }
  const seal = (change: object = {}) =>
    sealEnvelope({ ...sealing, senderSeed: first.keys.sign.secret, ...to, ...change })
  const opener = { roster, keyLogs, recipient: second.id, seal: second.keys.seal }

  test('opens on the device it is for', async () => {
    const envelope = await seal()
    assert.deepEqual(await openEnvelope({ envelope, ...opener }), k)
    assert.notEqual(await seal(), envelope)
  })
  test('opens with keys rebuilt from kept secrets', async () => {
    const { sign: s, seal: e, auth } = second.keys
    const kept = deviceKeysFrom({ sign: s.secret, seal: e.secret, auth: auth.secret })
    assert.deepEqual(kept, second.keys)
    assert.deepEqual(await openEnvelope({ envelope: await seal(), ...opener, seal: kept.seal }), k)
  })

  const low = { kty: 'OKP', crv: 'X25519', x: encodeBase64url(new Uint8Array(32)) }
  const table: [string, object, object, Reason][] = [
    ['another K', { k: new Uint8Array(32) }, {}, 'k_commit_mismatch'],
    ['a later epoch', { epoch: 2 }, {}, 'unknown_epoch'],
    ['an older epoch', {}, { roster: { ...roster, epoch: 2 } }, 'old_epoch'],
    ['another opening', { epochHead: ZERO_HEAD }, {}, 'wrong_epoch_head'],
    ['another connection', { connection: newConnection() }, {}, 'wrong_connection'],
    ['for another device', { recipient: first.id }, {}, 'wrong_recipient'],
    ['for another key', { recipientSeal: first.keys.seal.jwk }, {}, 'wrong_recipient_kid'],
    ['by a device of nobody', { sender: third.id }, {}, 'sender_not_member'],
    [
      'by a device of nobody current',
      {},
      { roster: { ...roster, members: [] } },
      'sender_not_member',
    ],
    ['by another than it says', { sender: second.id }, {}, 'kid_mismatch'],
    ['signed by another', { senderSeed: third.keys.sign.secret }, {}, 'bad_signature'],
    ['K of 31 bytes', { k: k.subarray(1) }, {}, 'bad_length'],
    ['to a low-order key', { recipientSeal: low }, {}, 'open_failed'],
    ['to a signing key', { recipientSeal: second.keys.sign.jwk }, {}, 'bad_key'],
  ]
  for (const [name, sealed, opened, reason] of table) {
    test(`${name}: ${reason}`, async () => {
      const attempt = async () =>
        openEnvelope({ envelope: await seal(sealed), ...opener, ...opened })
      await assert.rejects(attempt, { reason })
    })
  }
  test('by a device revoked since: revoked_signer', async () => {
    const envelope = await seal()
    const revoked = verifyKeyLog(account, [...two, logEntry(account, two, 'revoke', first, second)])
    const logs = new Map([[account, revoked]])
    const attempt = openEnvelope({ envelope, ...opener, keyLogs: logs })
    await assert.rejects(attempt, { reason: 'revoked_signer' })
  })
  test('k_commit depends on every part', () => {
    const all = [
      commitment(connection, 1, k),
      commitment(connection, 2, k),
      commitment(newConnection(), 1, k),
      commitment(connection, 1, ZERO_HEAD),
    ]
    assert.equal(new Set(all).size, 4)
    assert.equal(decodeBase64url(all[0]!).length, 32)
    refused(() => commitment(connection, 1, k.subarray(1)), 'bad_length')
  })
})
