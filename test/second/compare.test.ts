/** Two implementations of protocol 2, written by different hands, on 10,000 random inputs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sign } from 'node:crypto'
import { accountIdOf } from '../../src/crypto/account-id.ts'
import { challengeReader } from '../../src/crypto/challenge.ts'
import { codeKey as firstCodeKey, codeReader } from '../../src/crypto/code.ts'
import { initiate, respond } from '../../src/crypto/cpace-session.ts'
import { contactInput, inviteeAd, inviterAd } from '../../src/crypto/first-contact.ts'
import {
  approvalWords,
  checkReveal as firstCheckReveal,
  commitmentTo,
  transcriptOf,
} from '../../src/crypto/device-approval.ts'
import { comparableName, nameMarks } from '../../src/crypto/display-names.ts'
import * as firstEnvelope from '../../src/crypto/envelope-suite1.ts'
import { formatId, parseId } from '../../src/crypto/id.ts'
import { parseJson as firstParseJson } from '../../src/crypto/json.ts'
import { verifyJws } from '../../src/crypto/jws-signature.ts'
import { readPurpose } from '../../src/crypto/purpose.ts'
import {
  paperWords,
  parsePaper,
  recoveryKeySeed as firstKeySeed,
} from '../../src/crypto/recovery-paper.ts'
import { newSealKey, sealKeyId } from '../../src/crypto/seal-key.ts'
import { parseWords as firstParseWords } from '../../src/crypto/words.ts'
import { accountOf } from './account-id.ts'
import { checkReveal, commitment, shown, transcript } from './approval.ts'
import { base64url, type Bytes, hex, sha256, utf8 } from './bytes.ts'
import { code, codeKey, mac2, purposeShown } from './codes.ts'
import { agree, verdictOf } from './compare.ts'
import { associated, channel, derive, finish, generator, type Session } from './cpace.ts'
import { L, littleEndian, mod, toLittleEndian, verifySignature } from './edwards.ts'
import { kCommitOf, openEnvelope, sealEnvelope } from './envelope.ts'
import { idBytes, idText, type Prefix } from './ids.ts'
import { parseJson } from './json.ts'
import { folded, marks } from './names.ts'
import { again, type Random, random } from './random.ts'
import { paperOf, readPaper, recoveryKeySeed } from './recovery.ts'
import { times } from './ristretto.ts'
import { newKeyPair } from './signing.ts'
import { randomJson, randomText } from './texts.ts'
import { indicesOf, LIST, parseWords, wordsOf } from './words.ts'

/** How many inputs each comparison takes. */
const ROUNDS = {
  words: 1500,
  ids: 1000,
  json: 1500,
  codes: 800,
  challenges: 1400,
  purposes: 1300,
  names: 1300,
  'account ids': 300,
  approvals: 300,
  papers: 300,
  signatures: 200,
  'first contacts': 60,
  envelopes: 40,
}

/** One test: `compare` with as many random inputs as `ROUNDS` says. */
function rounds(name: keyof typeof ROUNDS, compare: (of: Random, round: number) => unknown): void {
  test(`${name}: ${ROUNDS[name]} random inputs`, async () => {
    const of = random(name)
    for (let round = 0; round < ROUNDS[name]; round++) await compare(of, round)
  })
}

test('the inputs are 10,000', () => {
  const total = Object.values(ROUNDS).reduce((sum, count) => sum + count, 0)
  assert.equal(total, 10_000)
})

/** The text with one character more, less or changed, one time in `chance`. */
function spoilt(of: Random, text: string, chance: number): string {
  if (of.below(chance) !== 0) return text
  const at = of.below(text.length + 1)
  const other = of.pick(['', 'a', 'z', '0', 'U', '_', ' ', 'é'])
  return text.slice(0, at) + other + text.slice(at + of.below(2))
}
/** The same bytes, one time in `chance` with one bit changed. */
function flipped(of: Random, data: Bytes, chance: number): Bytes {
  const copy = data.slice()
  if (of.below(chance) === 0) copy[of.below(copy.length)]! ^= 1 << of.below(8)
  return copy
}

rounds('words', async (of) => {
  const count = of.pick([1, 3, 4, 6, 24])
  const words = wordsOf(indicesOf(of.bytes(36), count))
  const typed = words.map((word) => of.pick([word, word.toUpperCase()]))
  const input = spoilt(of, typed.join(of.pick(['', ' ', '-', '\n2. '])), 3)
  await agree(
    () => firstParseWords(input, count),
    () => parseWords(input, count),
    input,
  )
})

rounds('ids', async (of) => {
  const prefix = of.pick<Prefix>(['acc', 'dev', 'con', 'gst', 'stm'])
  const id = of.bytes(16)
  assert.equal(formatId(`${prefix}_`, id), idText(prefix, id), again)
  const text = spoilt(of, idText(prefix, id), 2)
  const first = await verdictOf(() => parseId(`${prefix}_`, text))
  const second = idBytes(prefix, text)
  assert.equal(first.accept, second !== null, `${again}, ${text}`)
  if (first.accept) assert.equal(hex(first.value), hex(second!), again)
})

rounds('json', async (of) => {
  const text = randomJson(of)
  const data = of.below(20) === 0 ? flipped(of, utf8(text), 1) : utf8(text)
  const first = await verdictOf(() => firstParseJson(data))
  const second = await verdictOf(() => parseJson(data))
  // The second one takes objects alone, as the roots of all structures are.
  if (first.accept && !(first.value instanceof Map)) return
  const input = `${again}, ${JSON.stringify(text)}`
  assert.equal(first.accept, second.accept, input)
  if (first.accept && second.accept) assert.deepEqual(first.value, second.value, input)
})

const randomCodeKey = (of: Random) => ({
  label: of.pick(['countersign/v2/code', 'countersign/v2/guest', 'countersign/v2/public']),
  key: of.bytes(32),
  subject: of.bytes(16),
  epoch: of.below(2 ** 32),
  head: of.bytes(32),
})
const randomWindow = (of: Random): number => of.below(of.pick([2 ** 26, 2 ** 48]))

rounds('codes', (of) => {
  const input = randomCodeKey(of)
  const [kc, window, speaker] = [codeKey(input), randomWindow(of), of.bytes(16)]
  assert.equal(hex(firstCodeKey(input)), hex(kc), again)
  assert.deepEqual(codeReader(kc)(window, speaker), code(kc, window, speaker), again)
})

rounds('challenges', async (of) => {
  const kc = of.bytes(32)
  const asked = {
    window: randomWindow(of),
    speaker: of.bytes(16),
    listener: of.bytes(16),
    challenge: of.below(4096),
  }
  const purpose = of.below(3) === 0 ? '' : randomText(of, 40)
  await agree(
    () => challengeReader(kc)({ ...asked, purpose: readPurpose(purpose) }),
    () => mac2(kc, { ...asked, purpose }),
    purpose,
  )
})

rounds('purposes', async (of) => {
  const typed = randomText(of, 100)
  await agree(
    () => readPurpose(typed).shown,
    () => purposeShown(typed),
    typed,
  )
})

rounds('names', (of) => {
  const names = Array.from({ length: 4 }, () => randomText(of, 6))
  const name = of.below(2) === 0 ? randomText(of, 6) : of.pick(names).toUpperCase()
  assert.equal(comparableName(name), folded(name), `${again}, ${JSON.stringify(name)}`)
  const others = new Set(names.map(comparableName))
  assert.deepEqual(nameMarks(name, others), marks(name, names), `${again}, ${JSON.stringify(name)}`)
})

const randomKeys = (of: Random) => ({ sign: of.bytes(32), seal: of.bytes(32), auth: of.bytes(32) })
/** The same keys as the first implementation has them. */
const firstKeys = ({ sign, seal, auth }: ReturnType<typeof randomKeys>) => ({
  sign,
  sealHash: seal,
  auth,
})

rounds('account ids', (of) => {
  const [keys, salt] = [randomKeys(of), of.bytes(32)]
  assert.equal(accountIdOf(firstKeys(keys), salt), idText('acc', accountOf(keys, salt)), again)
})

rounds('approvals', async (of) => {
  const keys = randomKeys(of)
  const [account, device, nN, nO, head] = [16, 16, 32, 32, 32].map((n) => of.bytes(n)) as [
    Bytes,
    Bytes,
    Bytes,
    Bytes,
    Bytes,
  ]
  const seq = randomWindow(of)
  const second = { account, device, ...keys }
  const ids = { account: idText('acc', account), device: idText('dev', device) }
  const first = { ...ids, keys: firstKeys(keys), nonce: nN }
  const C = commitment(second, nN)
  assert.equal(hex(commitmentTo(first)), hex(C), again)
  const T = transcript(second, seq, head, nN, nO)
  assert.equal(hex(transcriptOf(first, { nonce: nO, seq, head })), hex(T), again)
  const words = approvalWords(T)
  assert.deepEqual([words.newDevice, words.oldDevice], Object.values(shown(T)), again)
  const committed = flipped(of, C, 2)
  await agree(
    () => firstCheckReveal(committed, first),
    () => checkReveal(committed, second, nN),
    hex(committed),
  )
})

rounds('papers', async (of) => {
  const seed = of.bytes(32)
  const words = paperOf(seed)
  assert.deepEqual(paperWords(seed), words, again)
  assert.equal(hex(firstKeySeed(seed)), hex(recoveryKeySeed(seed)), again)
  if (of.below(2) === 0) words[of.below(24)] = of.pick(LIST)
  const input = words.slice(0, of.pick([24, 24, 24, 23])).join(' ')
  await agree(
    () => hex(parsePaper(input)),
    () => hex(readPaper(input).seed),
    input,
  )
})

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

  // The first implementation is each role in turn against the second one.
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
  const commit = firstEnvelope.keyCommitment(connection, epoch.epoch, K)
  const kid = sealKeyId(pair.publicKey)
  const held = { kid: sha256(pair.publicKey), key: pair.secret }
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
    async () => hex((await openEnvelope(received, newest, recipient, [held])).K),
    received,
  )
})

/** The envelope with one member of another value. */
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
