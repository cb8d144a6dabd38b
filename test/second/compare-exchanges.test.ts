/**
 * Compares two independent implementations of protocol 2 on 10,000 random inputs.
 * The inputs are signatures, first contacts and envelopes.
 */
import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { initiate, respond } from '../../src/crypto/cpace.ts'
import { contactInput, inviteeAd, inviterAd } from '../../src/crypto/first-contact.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import * as firstEnvelope from '../../src/crypto/envelope.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { verifyJws } from '../../src/crypto/jose/jws-signature.ts'
import { newSealKey } from '../../src/crypto/seal-key.ts'
import { base64url, type Bytes, hex, sha256, utf8 } from './bytes.ts'
import { agree, verdictOf } from './compare.ts'
import { associated, channel, derive, finish, generator, type Session } from './cpace.ts'
import { L, littleEndian, mod, toLittleEndian, verifySignature } from './edwards.ts'
import { kCommitOf, openEnvelope, sealEnvelope } from './envelope.ts'
import { idBytes, idText } from './ids.ts'
import { again, type Random } from './random.ts'
import { times } from './ristretto.ts'
import { newKeyPair } from './signing.ts'
import { indicesOf, wordsOf } from './words.ts'
import { flipped, randomWindow, rounds } from './rounds.ts'

rounds('signatures', (of) => {
  const pair = newKeyPair(of)
  const [key, message] = [flipped(of, pair.publicKey, 6), of.bytes(of.below(80))]
  let signature: Bytes = new Uint8Array(sign(null, message, pair.secret))
  const high = littleEndian(signature.slice(32)) + L
  // One in six has S + L, which is another spelling of the same signature.
  if (of.below(6) === 0)
    signature = new Uint8Array([...signature.slice(0, 32), ...toLittleEndian(high)])
  signature = flipped(of, signature, 3)
  const accepted = (() => {
    try {
      verifyJws({ signature, signingInput: message }, key)
      return true
    } catch {
      return false
    }
  })()
  assert.equal(accepted, verifySignature(key, message, signature), `${again}, ${hex(signature)}`)
})

/** A scalar below the order of the group. */
const randomScalar = (of: Random): Bytes => toLittleEndian(mod(littleEndian(of.bytes(32)), L))

rounds('first contacts', async (of, round) => {
  const [connection, inviter, invitee, sid] = [16, 16, 16, 16].map((n) => of.bytes(n)) as [
    Bytes,
    Bytes,
    Bytes,
    Bytes,
  ]
  const words = wordsOf(indicesOf(of.bytes(6), 4)).join(' ')
  const [seqA, headA, seqB, headB, roster] = [
    randomWindow(of),
    of.bytes(32),
    randomWindow(of),
    of.bytes(32),
    of.bytes(32),
  ]
  const [ida, idb] = [idText('acc', invitee), idText('acc', inviter)]
  const [adA, adB] = [associated(invitee, seqA, headA), associated(inviter, seqB, headB, roster)]
  assert.equal(hex(inviteeAd({ account: ida, seq: seqA, head: headA })), hex(adA), again)
  const place = { account: idb, seq: seqB, head: headB, rosterHead: roster }
  assert.equal(hex(inviterAd(place)), hex(adB), again)
  const input = contactInput({ words, sid, connection: idText('con', connection), inviter: idb })
  const ci = channel(connection, inviter)
  assert.equal(hex(input.ci), hex(ci), again)

  // The first implementation runs each role in turn against the second one.
  const [scalarA, scalarB] = [randomScalar(of), randomScalar(of)]
  const wrong = of.below(3) === 0
  const prs = utf8(wrong ? words.replace(/^\w+/, 'zoom') : words)
  const common = { prs, sid, ci }
  const firstIsInitiator = round % 2 === 0
  const own = firstIsInitiator ? scalarB : scalarA
  const share = times(own, generator(prs, ci, sid))
  if (firstIsInitiator) {
    const run = initiate(input, adA, scalarA)
    const session: Session = {
      ...common,
      role: 'responder',
      scalar: scalarB,
      ad: adB,
      receivedShare: run.message.share,
      receivedAd: adA,
    }
    const { tag, expectedTag, isk } = derive(session)
    const end = await verdictOf(() => run.finish({ share, ad: adB, tag }, adB))
    if (wrong) assert.deepEqual(end, { accept: false, reason: 'tag_mismatch' }, again)
    else {
      assert.ok(end.accept, again)
      assert.deepEqual(
        [hex(end.value.tag), hex(end.value.isk)],
        [hex(expectedTag), hex(isk)],
        again,
      )
    }
    return
  }
  const run = respond(input, adB, { share, ad: adA }, adA, scalarB)
  const session: Session = {
    ...common,
    role: 'initiator',
    scalar: scalarA,
    ad: adA,
    receivedShare: run.reply.share,
    receivedAd: run.reply.ad,
  }
  const end = await verdictOf(() => finish(session, adB, run.reply.tag))
  if (wrong) assert.deepEqual(end, { accept: false, reason: 'tag_mismatch' }, again)
  else {
    assert.ok(end.accept, again)
    assert.equal(hex(run.finish(end.value.tag).isk), hex(end.value.isk), again)
  }
})

rounds('envelopes', async (of, round) => {
  const pair = await newSealKey()
  const connection = idText('con', of.bytes(16))
  const epoch = { connection, epoch: 1 + of.below(2 ** 32 - 1), epochHead: of.bytes(32) }
  const [recipient, K] = [idText('dev', of.bytes(16)), of.bytes(32)]
  const commit = keyCommitment(connection, epoch.epoch, K)
  const kid = sealKeyId(pair.publicKey)
  const key = { kid: sha256(pair.publicKey), key: pair.secret }
  const parsed = idBytes('con', connection)!
  assert.equal(commit, base64url(kCommitOf(parsed, epoch.epoch, K)), again)
  const text =
    round % 2 === 0
      ? await firstEnvelope.sealEnvelope(epoch, K, { recipient, kid, publicKey: pair.publicKey })
      : await sealEnvelope(K, pair.publicKey, epoch, recipient)
  const received = of.below(2) === 0 ? text : oneMemberChanged(of, text)
  const newest = { ...epoch, kCommit: kCommitOf(parsed, epoch.epoch, K) }
  await agree(
    async () =>
      hex(
        await firstEnvelope.openEnvelope(
          received,
          { ...epoch, kCommit: commit },
          recipient,
          new Map([[kid, pair.secret]]),
        ),
      ),
    async () => hex((await openEnvelope(received, newest, recipient, [key])).K),
    received,
  )
})

/** Returns the envelope with one member of another value. */
function oneMemberChanged(of: Random, text: string): string {
  const object = JSON.parse(text) as Record<string, unknown>
  const changes: Readonly<Record<string, unknown>> = {
    v: 1,
    suite: 2,
    connection: idText('con', of.bytes(16)),
    epoch: 0,
    epoch_head: base64url(of.bytes(32)),
    recipient: idText('dev', of.bytes(16)),
    recipient_kid: base64url(of.bytes(32)),
    enc: base64url(of.bytes(1120)),
    ct: base64url(of.bytes(48)),
  }
  const name = of.pick(Object.keys(changes))
  return JSON.stringify({ ...object, [name]: of.below(4) === 0 ? undefined : changes[name] })
}
