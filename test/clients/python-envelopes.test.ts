/**
 * Compares the program with the verifier in Python on envelopes with one member changed.
 * Debian's cryptography has no ML-KEM, so only the checks before the opening are compared there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEnvelope, sealEnvelope } from '../../src/crypto/envelope.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { newSealKey } from '../../src/crypto/seal-key.ts'
import { hex } from '../second/bytes.ts'
import { verdictOf } from '../second/compare.ts'
import { idText } from '../second/ids.ts'
import { again, random } from '../second/random.ts'
import { changedJson } from './changed.ts'
import { answersTo, lacksPython } from './python.ts'

const ROUNDS = 150
/** What Python answers if it has to open an envelope and cannot. */
const UNOPENED = 'no_ml_kem'

test('the verifier in Python agrees on envelopes', { skip: lacksPython() }, async (t) => {
  const of = random('python envelopes')
  const pair = await newSealKey()
  const [connection, recipient] = [idText('con', of.bytes(16)), idText('dev', of.bytes(16))]
  const [K, kid] = [of.bytes(32), sealKeyId(pair.publicKey)]
  const epoch = { connection, epoch: 1 + of.below(2 ** 31), epochHead: of.bytes(32) }
  const kCommit = keyCommitment(connection, epoch.epoch, K)
  const good = await sealEnvelope(epoch, K, { recipient, kid, publicKey: pair.publicKey })
  const object = JSON.parse(good) as Record<string, unknown>
  const near = { epoch: epoch.epoch + 1, suite: 2, v: 1, recipient: idText('dev', of.bytes(16)) }
  const texts = [
    good,
    ...Object.entries(near).map(([name, value]) => JSON.stringify({ ...object, [name]: value })),
    ...Array.from({ length: ROUNDS }, () => changedJson(of, object)),
  ]
  const held = { [kid]: hex(pair.secret as Uint8Array<ArrayBuffer>) }
  const newest = { connection, epoch: epoch.epoch, head: hex(epoch.epochHead), kCommit }
  const question = { ask: 'envelope', newest, recipient, held }
  const answers = await answersTo(texts.map((envelope) => ({ ...question, envelope })))
  let unopened = 0
  for (const [i, envelope] of texts.entries()) {
    const keys = new Map([[kid, pair.secret]])
    const expected = await verdictOf(async () =>
      hex(
        (await openEnvelope(
          envelope,
          { ...epoch, kCommit },
          recipient,
          keys,
        )) as Uint8Array<ArrayBuffer>,
      ),
    )
    const answer = answers[i]!
    const input = `${again}, ${envelope}`
    if (!answer.accept && answer.reason === UNOPENED) {
      assert.ok(expected.accept || expected.reason === 'open_failed', input)
      unopened++
    } else assert.deepEqual(answer, expected, input)
  }
  t.diagnostic(`${unopened} of ${texts.length} envelopes not opened for want of ML-KEM`)
  assert.ok(unopened < texts.length / 3)
})
