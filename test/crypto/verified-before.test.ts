/**
 * Tests logs that were verified in part before.
 * The signatures of that part are not verified again, and nothing else changes.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { type KnownPlace, lastPlace } from '../../src/crypto/logs/chain.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { verifyingKeyLog, verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { verifyRoster } from '../../src/crypto/logs/roster.ts'
import { add, logEntry, newDevice, newPerson, rosterEntry } from './builders.ts'
import { account, begin, first, refused, second } from './opened.ts'
import { B, connection, consentOf, devices, keyLogs, memberLog, two as roster } from './people.ts'

const flipped = (text: string) => {
  const bytes = decodeBase64url(text)
  bytes[40]! ^= 1
  return encodeBase64url(bytes)
}
/** Returns an entry with an invalid signature. */
const forged = (jws: string) => {
  const [header, payload, signature] = jws.split('.')
  return `${header}.${payload}.${flipped(signature!)}`
}

/** A log with a forged second entry, which stands for one that was verified before. */
const unsigned = forged(logEntry(account, [begin], 'add', second, first))
const verified = [begin, unsigned]
const at = (entries: readonly string[]) => lastPlace(entries)!
const next = logEntry(account, verified, 'revoke', second, first)

describe('a key log, verified earlier up to an entry', () => {
  test('verifies no signature up to that entry, and accepts later ones', () => {
    refused(() => verifyKeyLog(account, verified), 'bad_signature')
    assert.equal(verifyKeyLog(account, verified, at(verified)).seq, 1)
    assert.equal(verifyKeyLog(account, [...verified, next], at(verified)).seq, 2)
  })

  test('checks no key in it for the group', () => {
    const { sign, ...keys } = publicKeys(second.keys)
    // The identity of the group, which no entry may name.
    const x = encodeBase64url(Uint8Array.of(1, ...new Uint8Array(31)))
    const weak = { keys: { ...keys, sign: { ...sign, x } } }
    const entries = [begin, logEntry(account, [begin], 'add', second, first, weak)]
    refused(() => verifyKeyLog(account, entries), 'bad_key')
    assert.equal(verifyKeyLog(account, entries, at(entries)).seq, 1)
  })

  test('verifies every signature after it', () => {
    refused(() => verifyKeyLog(account, [...verified, forged(next)], at(verified)), 'bad_signature')
    const other = logEntry(account, [begin], 'add', newDevice(), first)
    refused(() => verifyKeyLog(account, [begin, forged(other)], at([begin])), 'bad_signature')
  })

  test('checks every other rule of it', () => {
    const two = [begin, logEntry(account, [begin], 'add', second, first)]
    const again = [...two, logEntry(account, two, 'add', second, first)]
    refused(() => verifyKeyLog(account, again, at(again)), 'duplicate_device')
    const strange = [begin, logEntry(account, [begin], 'add', second, newDevice())]
    refused(() => verifyKeyLog(account, strange, at(strange)), 'unknown_signer')
  })
})

/** Five valid entries. */
const own = newDevice()
const whole = newPerson(own)
for (let seq = 1; seq < 5; seq++) add(whole, newDevice(), own)
const { entries: good } = whole.log
/** Returns another valid entry at a place. */
const otherAt = (seq: number) =>
  logEntry(whole.account, good.slice(0, seq), 'add', newDevice(), own)
const changes: Record<string, readonly string[]> = {
  'a forged signature': good.with(2, forged(good[2]!)),
  'a forged signature at the place': good.with(4, forged(good[4]!)),
  'another entry': good.with(2, otherAt(2)),
  'a gap': good.toSpliced(2, 1),
  'an entry twice': good.toSpliced(3, 0, good[1]!),
  'a second successor inside': good.toSpliced(3, 0, otherAt(2)),
  'a forged second successor': good.toSpliced(3, 0, forged(otherAt(2))),
  'too few entries, one of them forged': good.slice(0, 3).with(1, forged(good[1]!)),
  nothing: [],
}
const verdict = (entries: readonly string[], known?: KnownPlace) => {
  try {
    verifyKeyLog(whole.account, entries, known)
    return null
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return [error.reason, error.details.entry]
  }
}

describe('another list than the verified one is rejected for the first broken rule', () => {
  for (const [name, entries] of Object.entries(changes))
    test(name, () => {
      const without = verdict(entries)
      assert.notEqual(without, null)
      assert.deepEqual(verdict(entries, at(good)), without)
    })
  test('a shorter list is a rollback, and another valid one a fork', () => {
    assert.deepEqual(verdict(good.slice(0, 3), at(good)), ['rollback', undefined])
    const other = [...good.slice(0, 2), otherAt(2)]
    assert.deepEqual(verdict(other, at(good.slice(0, 3))), ['key_log_forked', 2])
    assert.deepEqual(verdict([...good, otherAt(2)], at(good)), ['key_log_forked', 5])
    assert.deepEqual(verdict([...good, forged(otherAt(2))], at(good)), ['bad_signature', 5])
  })
})

describe('a roster, verified earlier up to an entry', () => {
  const { a1, a2, b1 } = devices
  const [opening, adding] = roster.entries as [string, string]
  const seen = [opening, forged(adding)]
  const reported = { ...roster, head: entryHash(seen[1]!) }

  test('verifies no signature up to that entry', () => {
    refused(() => verifyRoster(connection, seen, keyLogs), 'bad_signature')
    assert.equal(verifyRoster(connection, seen, keyLogs, at(seen)).members.length, 2)
  })

  test('nor the signature of a consent in it', () => {
    const consent = forged(consentOf({ connection, head: entryHash(opening) }, B))
    const { seq, head } = memberLog(B)
    const member_log = { seq, head: encodeBase64url(head) }
    const add = { op: 'add', member: B.account, member_log, role: 'member', consent }
    const before = { connection, seq: 0, head: entryHash(opening), epoch: 1 }
    const owner = {
      account: roster.members[0]!.account,
      log: keyLogs.get(roster.members[0]!.account)!,
    }
    const first = { seq: 0, head: encodeBase64url(owner.log.heads[0]!) }
    const entries = [opening, rosterEntry(before, owner, a1, { ...add, actor_log: first })]
    refused(() => verifyRoster(connection, entries, keyLogs), 'bad_consent')
    assert.equal(verifyRoster(connection, entries, keyLogs, at(entries)).members.length, 2)
  })

  test('checks every other rule of it, and the key logs that it names', () => {
    const role = { op: 'role', member: B.account, role: 'owner' }
    const entries = [...roster.entries, rosterEntry(roster, B, b1, role)]
    refused(() => verifyRoster(connection, entries, keyLogs, at(entries)), 'not_owner')
    const others = new Map(keyLogs).set(B.account, newPerson(a2).log)
    refused(
      () => verifyRoster(connection, roster.entries, others, at(roster.entries)),
      'member_log_mismatch',
    )
  })

  test('verifies every signature after it', () => {
    const entry = rosterEntry(reported, B, b1, { op: 'leave' })
    assert.equal(verifyRoster(connection, [...seen, entry], keyLogs, at(seen)).members.length, 1)
    const bad = [...seen, forged(entry)]
    refused(() => verifyRoster(connection, bad, keyLogs, at(seen)), 'bad_signature')
  })
})

test('the work on a log can be interrupted after each entry', () => {
  const steps = verifyingKeyLog(whole.account, good)
  let turns = 0
  for (let step = steps.next(); step.done !== true; step = steps.next()) turns++
  assert.equal(turns, good.length)
})
