/** Tests key logs that the builders make and the verifier reads. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { isLinked } from '../../src/crypto/logs/generations.ts'
import { signerAt } from '../../src/crypto/logs/key-log-ops.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { addFirst, newSalt } from '../../src/crypto/logs/key-log-entries.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { logEntry } from './builders.ts'
import { account, at, begin, first, refused, second, third, two } from './opened.ts'

describe('key log', () => {
  test('of one device', () => {
    const log = verifyKeyLog(account, [begin])
    assert.deepEqual(log.heads, [entryHash(begin)])
    assert.deepEqual(log.active, [
      {
        id: first.id,
        keys: publicKeys(first.keys),
        kid: first.kid,
        seal: publicKeys(first.keys).seal,
        renewals: [],
        addedAt: 0,
        revokedAt: null,
        generation: 1,
      },
    ])
  })
  test('addFirst rejects what the reader rejects', () => {
    const keys = { ...first.keys, auth: first.keys.sign }
    const salt = newSalt()
    refused(() => addFirst({ salt, device: first.id, keys, at }), 'duplicate_key')
    refused(() => addFirst({ salt, device: account, keys: first.keys, at }), 'bad_value')
    refused(() => addFirst({ salt, device: first.id, keys: first.keys, at: -1 }), 'bad_value')
    const short = salt.subarray(1)
    refused(() => addFirst({ salt: short, device: first.id, keys: first.keys, at }), 'bad_length')
  })
  test('returns the valid signers at each entry', () => {
    const entries = [...two, logEntry(account, two, 'revoke', first, second)]
    entries.push(logEntry(account, entries, 'reset', third, third))
    const log = verifyKeyLog(account, entries)
    assert.ok(!isLinked(log, 1, 2))
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
  const known = { seq: 1, head: entryHash(two[1]!) }
  const table: [string, string[], typeof known | undefined, RefusalReason][] = [
    ['two valid successors', [...two, other], undefined, 'key_log_forked'],
    [
      'two first entries',
      [begin, logEntry(account, [], 'add', first, first, { at: at + 1 })],
      undefined,
      'key_log_forked',
    ],
    [
      'an invalid second successor',
      [...two, logEntry(account, [begin], 'add', third, second)],
      undefined,
      'unknown_signer',
    ],
    ['another log than was seen', [begin, other], known, 'key_log_forked'],
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
      'nothing after the revocation of the last device',
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
