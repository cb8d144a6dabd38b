/**
 * Tests approving a further device: the cases of test kit 2, and the inputs of the transcript.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  approvalWords,
  checkReveal,
  commitmentTo,
  transcriptOf,
  type ApprovalAnswer,
  type Reveal,
} from '../../src/crypto/device-approval.ts'
import { formatId, parseId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { sameWords } from '../../src/crypto/words.ts'
import { newAccount, newDevice } from './builders.ts'
import { bytes, hex, ofKind, run } from './kit2.ts'

type Revealed = {
  account_hex: string
  device_hex: string
  sign_hex: string
  seal_sha256_hex: string
  auth_hex: string
  nN_hex: string
}
const revealOf = (of: Revealed): Reveal => ({
  account: formatId(ID_PREFIX.account, bytes(of.account_hex)),
  device: formatId(ID_PREFIX.device, bytes(of.device_hex)),
  keys: {
    sign: bytes(of.sign_hex),
    sealHash: bytes(of.seal_sha256_hex),
    auth: bytes(of.auth_hex),
  },
  nonce: bytes(of.nN_hex),
})

type SasCase = Revealed & {
  account: string
  device: string
  nO_hex: string
  seq: number
  head_hex: string
  C_hex: string
  T_hex: string
  new_shows: string[]
  old_shows: string[]
  typed: { side: 'O' | 'N'; input: string; match: boolean; why?: string }[]
}
run<SasCase>('approval.json', ofKind('sas'), (of) => {
  const reveal = revealOf(of)
  assert.deepEqual([reveal.account, reveal.device], [of.account, of.device])
  assert.equal(hex(commitmentTo(reveal)), of.C_hex)
  const answer = { nonce: bytes(of.nO_hex), seq: of.seq, head: bytes(of.head_hex) }
  const transcript = transcriptOf(reveal, answer)
  assert.equal(hex(transcript), of.T_hex)
  const { newDevice, oldDevice } = approvalWords(transcript)
  assert.deepEqual([newDevice, oldDevice], [of.new_shows, of.old_shows])
  for (const { side, input, match, why } of of.typed)
    assert.equal(matches(input, side === 'O' ? newDevice : oldDevice), match, why)
})

/** The kit counts a wrong number of words as no match; here it is a separate error. */
function matches(typed: string, expected: string[]): boolean {
  try {
    return sameWords(typed, expected)
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'word_count') return false
    throw error
  }
}

run<Revealed & { C_hex: string }>('approval.json', ofKind('reveal'), (of) =>
  checkReveal(bytes(of.C_hex), revealOf(of)),
)

describe('a device approval', () => {
  const random = (length = 32) => new Uint8Array(randomBytes(length))
  const keys = { sign: random(), sealHash: random(), auth: random() }
  const reveal: Reveal = { account: newAccount(), device: newDevice().id, keys, nonce: random() }
  const answer: ApprovalAnswer = { nonce: random(), seq: 7, head: random() }
  const otherReveals: [string, Partial<Reveal>][] = [
    ['account', { account: newAccount() }],
    ['device', { device: newDevice().id }],
    ['signing key', { keys: { ...keys, sign: random() } }],
    ['sealing key', { keys: { ...keys, sealHash: random() } }],
    ['authentication key', { keys: { ...keys, auth: random() } }],
    ['nonce of the new device', { nonce: random() }],
  ]
  const otherAnswers: [string, Partial<ApprovalAnswer>][] = [
    ['nonce of the old device', { nonce: random() }],
    ['place in the log', { seq: 8 }],
    ['head of the log', { head: random() }],
  ]
  const transcript = hex(transcriptOf(reveal, answer))

  for (const [name, change] of otherReveals)
    test(`another ${name} makes another transcript, and does not match the commitment`, () => {
      const other = { ...reveal, ...change }
      assert.notEqual(hex(transcriptOf(other, answer)), transcript)
      const attempt = () => checkReveal(commitmentTo(reveal), other)
      assert.throws(attempt, { reason: 'commitment_mismatch' })
    })
  for (const [name, change] of otherAnswers)
    test(`another ${name} makes another transcript`, () =>
      assert.notEqual(hex(transcriptOf(reveal, { ...answer, ...change })), transcript))
  test('swapped nonces make another transcript', () => {
    const exchanged = [
      { ...reveal, nonce: answer.nonce },
      { ...answer, nonce: reveal.nonce },
    ] as const
    assert.notEqual(hex(transcriptOf(...exchanged)), transcript)
  })
  test('the words do not depend on the commitment', () => {
    assert.notEqual(hex(commitmentTo(reveal)), transcript)
    checkReveal(commitmentTo(reveal), reveal)
    const short = commitmentTo(reveal).subarray(0, 16)
    assert.throws(() => checkReveal(short, reveal), { reason: 'commitment_mismatch' })
  })
  test('C and T equal the hashes by node:crypto', () => {
    const newcomer = Buffer.concat([
      parseId(ID_PREFIX.account, reveal.account),
      parseId(ID_PREFIX.device, reveal.device),
      keys.sign,
      keys.sealHash,
      keys.auth,
    ])
    const seq = Buffer.from('0000000000000007', 'hex')
    const hash = (label: string, ...parts: Uint8Array[]) =>
      createHash('sha256')
        .update(Buffer.concat([Buffer.from(`${label}\0`), newcomer, ...parts]))
        .digest('hex')
    assert.equal(hex(commitmentTo(reveal)), hash('countersign/v2/approve', reveal.nonce))
    const tail = [seq, answer.head, reveal.nonce, answer.nonce]
    assert.equal(transcript, hash('countersign/v2/sas', ...tail))
  })
  test('rejects parts of another length', () => {
    const short = random(31)
    const attempts = [
      () => commitmentTo({ ...reveal, nonce: short }),
      () => commitmentTo({ ...reveal, keys: { ...keys, sealHash: short } }),
      () => transcriptOf({ ...reveal, nonce: random(33) }, answer),
      () => transcriptOf(reveal, { ...answer, nonce: short }),
      () => transcriptOf(reveal, { ...answer, head: short }),
    ]
    for (const attempt of attempts) assert.throws(attempt, { reason: 'bad_length' })
    for (const seq of [-1, 0.5, 2 ** 53])
      assert.throws(() => transcriptOf(reveal, { ...answer, seq }), { reason: 'bad_value' })
  })
})
