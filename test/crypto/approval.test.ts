/** The words that approve a further device: every case of the test kit, and what else is typed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { deviceWords, logWords } from '../../src/crypto/approval.ts'
import { parseId, PREFIX } from '../../src/crypto/id.ts'
import { publicJwk } from '../../src/crypto/jwk.ts'
import { verifyKeyLog } from '../../src/crypto/key-log-v1.ts'
import { Refusal, type Reason } from '../../src/crypto/refusal.ts'
import { parseWords, sameWords } from '../../src/crypto/words.ts'
import { newAccount, newDevice } from './builders.ts'

type Case = {
  id: string
  account: string
  account_hex: string
  device: string
  device_hex: string
  sign_hex: string
  seal_hex: string
  auth_hex: string
  device_indices: number[]
  device_words: string[]
  key_log: string[]
  head_hex: string
  log_indices: number[]
  log_words: string[]
  /** `side` is the device that is typed into; it expects what the other one shows. */
  typed: { side: 'old' | 'new'; input: string; match: boolean; why?: string }[]
}
const MEMBERS =
  'account account_hex auth_hex device device_hex device_indices device_words head_hex id key_log ' +
  'log_indices log_words seal_hex sign_hex typed'
const file = new URL('../testkit/device-approval.json', import.meta.url)
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: Case[] }
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')

describe('device-approval.json', () => {
  assert.ok(cases.length > 0)
  for (const of of cases) {
    const { account, device } = of
    const keys = {
      sign: publicJwk('Ed25519', bytes(of.sign_hex)),
      seal: publicJwk('X25519', bytes(of.seal_hex)),
      auth: publicJwk('Ed25519', bytes(of.auth_hex)),
    }
    const log = verifyKeyLog(account, of.key_log)
    const ofDevice = deviceWords({ account, device, keys })
    const ofLog = logWords({ account, head: log.head })

    test(of.id, () => {
      assert.equal(Object.keys(of).toSorted().join(' '), MEMBERS, 'a member that nothing reads')
      assert.equal(hex(parseId(PREFIX.account, account)), of.account_hex)
      assert.equal(hex(parseId(PREFIX.device, device)), of.device_hex)
      assert.deepEqual(log.devices.get(device)?.keys, keys)
      assert.equal(hex(log.head), of.head_hex)
      assert.deepEqual([ofDevice, ofLog], [of.device_words, of.log_words])
      assert.deepEqual(parseWords(ofDevice.join(' '), 6).indices, of.device_indices)
      assert.deepEqual(parseWords(ofLog.join(' '), 6).indices, of.log_indices)
    })
    for (const { side, input, match, why } of of.typed) {
      test(`${of.id}: ${why ?? input}, typed into the ${side} device`, () =>
        assert.equal(matches(input, side === 'old' ? ofDevice : ofLog), match))
    }
  }
})

/** The kit calls a wrong number of words no match; here it is an error of its own. */
function matches(typed: string, expected: string[]): boolean {
  try {
    return sameWords(typed, expected)
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'word_count') return false
    throw error
  }
}

describe('typed words', () => {
  const account = newAccount()
  const shown = logWords({ account, head: new Uint8Array(32) })
  const [first, ...others] = shown as [string, ...string[]]
  const table: [string, string | string[], boolean][] = [
    ['as shown', shown, true],
    ['in one text', shown.join(' '), true],
    ['in two texts', [shown.slice(0, 2).join('-'), shown.slice(2).join('')], true],
    ['in capitals, with numbers', shown.map((word, i) => `${i + 1}. ${word.toUpperCase()}`), true],
    ['backwards', shown.toReversed(), false],
    ['with one word of another', shown.with(3, shown[3] === 'zoom' ? 'path' : 'zoom'), false],
  ]
  for (const [name, typed, same] of table) {
    test(`${name}: ${same ? 'the same' : 'others'}`, () =>
      assert.equal(sameWords(typed, shown), same))
  }
  const faults: [string, string | string[], Reason, object][] = [
    ['nothing', '', 'word_count', { found: 0 }],
    ['five', others, 'word_count', { found: 5 }],
    ['seven', [...shown, first], 'word_count', { found: 7 }],
    [
      'one off the list',
      ['qqqqqqqq', ...others],
      'unknown_word',
      { word: 'qqqqqqqq', suggestions: [] },
    ],
  ]
  for (const [name, typed, reason, details] of faults) {
    test(`${name}: ${reason}`, () =>
      assert.throws(() => sameWords(typed, shown), { reason, details }))
  }
})

describe('words', () => {
  const account = newAccount()
  const { id: device, keys: pairs } = newDevice()
  const keys = { sign: pairs.sign.jwk, seal: pairs.seal.jwk, auth: pairs.auth.jwk }
  const given = { account, device, keys }

  test('depend on every part', () => {
    const other = newDevice()
    const changed = [
      given,
      { ...given, account: newAccount() },
      { ...given, device: other.id },
      { ...given, keys: { ...keys, sign: keys.auth, auth: keys.sign } },
      { ...given, keys: { ...keys, sign: other.keys.sign.jwk } },
      { ...given, keys: { ...keys, seal: other.keys.seal.jwk } },
      { ...given, keys: { ...keys, auth: other.keys.auth.jwk } },
    ]
    const all = changed.map((of) => deviceWords(of).join(' '))
    assert.equal(new Set(all).size, changed.length)
    const heads = [0, 1].map((byte) => new Uint8Array(32).fill(byte))
    const logs = [account, newAccount()].flatMap((of) =>
      heads.map((head) => logWords({ account: of, head }).join(' ')),
    )
    assert.equal(new Set(logs).size, 4)
  })
  const table: [string, () => unknown, Reason][] = [
    ['an account for a device', () => deviceWords({ ...given, device: account }), 'prefix'],
    ['a device for an account', () => deviceWords({ ...given, account: device }), 'prefix'],
    [
      'a signing key for a sealing key',
      () => deviceWords({ ...given, keys: { ...keys, seal: keys.sign } }),
      'bad_key',
    ],
    ['a head of 31 bytes', () => logWords({ account, head: new Uint8Array(31) }), 'bad_length'],
  ]
  for (const [name, attempt, reason] of table) {
    test(`${name}: ${reason}`, () => assert.throws(attempt, { reason }))
  }
})
