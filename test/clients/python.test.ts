/**
 * Compares the program with the verifier in Python on random inputs.
 * Both differ in language and libraries: in JSON, in Unicode, and in the arithmetic of curves.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { initiate } from '../../src/crypto/cpace.ts'
import { accountIdOf } from '../../src/crypto/device-public-keys.ts'
import { challengeReader, readPurpose } from '../../src/crypto/challenge.ts'
import { codeKey, codeReader } from '../../src/crypto/code.ts'
import { approvalWords, commitmentTo, transcriptOf } from '../../src/crypto/device-approval.ts'
import { comparableName, nameMarks } from '../../src/crypto/encoding/display-names.ts'
import { parseId } from '../../src/crypto/encoding/id.ts'
import { type Json, parseJson } from '../../src/crypto/encoding/json.ts'
import { contactInput } from '../../src/crypto/first-contact.ts'
import { verifyJws } from '../../src/crypto/jose/jws-signature.ts'
import { paperWords, parsePaper, recoveryKeySeed } from '../../src/crypto/recovery-paper.ts'
import { safetyNumber } from '../../src/crypto/safety-number.ts'
import { checkToken } from '../../src/crypto/token.ts'
import { parseWords } from '../../src/crypto/words.ts'
import { type Bytes, hex, utf8 } from '../second/bytes.ts'
import { verdictOf } from '../second/compare.ts'
import { lacking } from '../installed.ts'
import { L, littleEndian, mod, toLittleEndian } from '../second/edwards.ts'
import { idText, type Prefix } from '../second/ids.ts'
import { again, type Random, random } from '../second/random.ts'
import { flipped, mutated, randomWindow } from '../second/rounds.ts'
import { newKeyPair } from '../second/signing.ts'
import { randomJson, randomText } from '../second/texts.ts'
import { indicesOf, LIST, wordsOf } from '../second/words.ts'
import { answersTo, Comparison, FOLDER, lacksPython, runPython } from './python.ts'

const skip = lacksPython()

/** Adds one random question, with the answer of the program. */
type Ask = (of: Random, to: Comparison) => unknown

/** The number of random inputs, and how one is asked. */
const ASKED: Readonly<Record<string, readonly [number, Ask]>> = {
  codes: [10_000, askCode],
  words: [500, askWords],
  ids: [500, askId],
  tokens: [200, askToken],
  json: [2000, askJson],
  purposes: [1500, askPurpose],
  names: [500, askName],
  'account ids': [100, askAccount],
  approvals: [100, askApproval],
  papers: [100, askPaper],
  signatures: [100, askSignature],
  'safety numbers': [5, askSafetyNumber],
  'first contacts': [4, askFirstContact],
}

describe('the verifier in Python', { skip }, () => {
  test('agrees with the program on random inputs', async () => {
    const comparison = new Comparison()
    for (const [name, [rounds, ask]] of Object.entries(ASKED)) {
      const of = random(`python ${name}`)
      for (let round = 0; round < rounds; round++) await ask(of, comparison)
    }
    const refused = await comparison.agree()
    assert.ok(refused > 500 && refused < comparison.size / 2, `${refused} refusals, ${again}`)
  })

  test('agrees on every character that its tables of Unicode define', async () => {
    const ranges = CHARACTERS.map(([from, to]) => ({ ask: 'characters', from, to }))
    const answers = await answersTo(ranges)
    let compared = 0
    for (const [i, answer] of answers.entries()) {
      assert.ok(answer.accept)
      for (const [at, found] of (answer.value as unknown[]).entries()) {
        const code = ranges[i]!.from + at
        if (found === null) continue
        assert.deepEqual(found, characterHere(code), `U+${code.toString(16)}`)
        compared++
      }
    }
    assert.ok(compared > 30_000, `${compared} characters`)
  })

  test('its types hold', { skip: lacking('mypy') }, () => {
    const { status, stdout } = spawnSync('mypy', { cwd: FOLDER, encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  })

  test('its own tests pass, with every case of the test kits', async (t) => {
    const { code, stderr } = await runPython(['unittest', 'discover', '-q'])
    assert.equal(code, 0, stderr)
    const counts = /(\d+) cases agree, (\d+) skipped for want of ML-KEM/.exec(stderr)
    assert.ok(counts !== null, stderr)
    t.diagnostic(counts[0])
    assert.ok(Number(counts[1]) > 800, counts[0])
  })
})

function askCode(of: Random, to: Comparison): unknown {
  const label = of.pick(['countersign/v2/code', 'countersign/v2/guest', 'countersign/v2/public'])
  const key = {
    label: label as 'countersign/v2/code',
    key: of.bytes(32),
    subject: of.bytes(16),
    epoch: of.below(2 ** 32),
    head: of.bytes(32),
  }
  const [window, speaker, kc] = [randomWindow(of), of.bytes(16), codeKey(key)]
  const input = {
    ask: 'code',
    kind: label.replace('countersign/v2/', ''),
    key: hex(key.key),
    subject: hex(key.subject),
    epoch: key.epoch,
    head: hex(key.head),
    window,
    speaker: hex(speaker),
  }
  if (of.below(2) === 0)
    return to.add(input, { accept: true, value: codeReader(kc)(window, speaker) })
  const [listener, challenge] = [of.bytes(16), of.below(4096)]
  const purpose = `pay ${of.below(1e6)} to ${wordsOf([of.below(4096)])[0]}`
  const asked = { window, speaker, listener, challenge, purpose: readPurpose(purpose) }
  const question = { ...input, listener: hex(listener), challenge, purpose }
  return to.add(question, { accept: true, value: challengeReader(kc)(asked) })
}

async function askWords(of: Random, to: Comparison) {
  const number = of.pick([3, 4, 24])
  const typed = wordsOf(indicesOf(of.bytes(36), number)).map((word) =>
    of.pick([word, word.toUpperCase(), word.normalize('NFKD'), fullWidth(word)]),
  )
  const text = mutated(of, typed.join(of.pick(['', ' ', '-', '\n2. ', '\u3000'])), 3)
  to.add(
    { ask: 'words', typed: text, number },
    await verdictOf(() => parseWords(text, number).indices),
  )
}
const fullWidth = (word: string): string =>
  word.replace(/./g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))

async function askId(of: Random, to: Comparison) {
  const prefix = of.pick<Prefix>(['acc', 'dev', 'con', 'gst', 'stm'])
  const text = mutated(of, idText(prefix, of.bytes(16)), 2)
  to.add(
    { ask: 'id', prefix: `${prefix}_`, text },
    await verdictOf(() => hex(parseId(`${prefix}_`, text) as Bytes)),
  )
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
async function askToken(of: Random, to: Comparison) {
  const body = Array.from(of.bytes(36), (byte) => BASE62[byte % 62]).join('')
  const text = mutated(of, `${of.pick(['csd_', 'csm_', 'cse_'])}${body}`, 3)
  to.add({ ask: 'token', text }, await verdictOf(() => checkToken(text)))
}

async function askJson(of: Random, to: Comparison) {
  const text = utf8(randomJson(of))
  const data = flipped(of, text, 20)
  to.add({ ask: 'json', data: hex(data) }, await verdictOf(() => listed(parseJson(data))))
}
/** Returns JSON in which objects are lists of pairs, in their order. */
function listed(value: Json): unknown {
  if (value instanceof Map)
    return { members: Array.from(value, ([name, item]) => [name, listed(item as Json)]) }
  return Array.isArray(value) ? value.map(listed) : value
}

async function askPurpose(of: Random, to: Comparison) {
  const typed = definedText(of, 100)
  to.add({ ask: 'purpose', typed }, await verdictOf(() => readPurpose(typed).shown))
}

async function askName(of: Random, to: Comparison) {
  const others = Array.from({ length: 4 }, () => definedText(of, 6))
  const name = of.below(2) === 0 ? definedText(of, 6) : of.pick(others).toUpperCase()
  const forms = new Set(others.map(comparableName))
  const value = [comparableName(name), nameMarks(name, forms)]
  to.add({ ask: 'name', name, others }, { accept: true, value })
}

/**
 * Returns a random text without characters that no version of Unicode defines yet. They are
 * replaced and not removed, because surrogates on both sides of one could then form another one.
 */
const definedText = (of: Random, most: number): string =>
  randomText(of, most).replace(/\p{Cn}/gu, 'x')

const keysOf = (of: Random) => ({ sign: of.bytes(32), sealHash: of.bytes(32), auth: of.bytes(32) })
const hexKeys = ({ sign: signing, sealHash, auth }: ReturnType<typeof keysOf>) => ({
  sign: hex(signing),
  seal: hex(sealHash),
  auth: hex(auth),
})

function askAccount(of: Random, to: Comparison) {
  const [keys, salt] = [keysOf(of), of.bytes(32)]
  const value = accountIdOf(keys, salt)
  to.add({ ask: 'account', ...hexKeys(keys), salt: hex(salt) }, { accept: true, value })
}

function askApproval(of: Random, to: Comparison) {
  const keys = keysOf(of)
  const ids = { account: idText('acc', of.bytes(16)), device: idText('dev', of.bytes(16)) }
  const [nN, nO, head, seq] = [of.bytes(32), of.bytes(32), of.bytes(32), randomWindow(of)]
  const newcomer = { ...ids, keys, nonce: nN }
  const T = transcriptOf(newcomer, { nonce: nO, seq, head }) as Bytes
  const { newDevice, oldDevice } = approvalWords(T)
  const value = [hex(commitmentTo(newcomer) as Bytes), hex(T), newDevice, oldDevice]
  const places = { nN: hex(nN), nO: hex(nO), head: hex(head), seq }
  to.add({ ask: 'approval', ...ids, ...hexKeys(keys), ...places }, { accept: true, value })
}

async function askPaper(of: Random, to: Comparison) {
  const words = paperWords(of.bytes(32))
  if (of.below(2) === 0) words[of.below(24)] = of.pick(LIST)
  const input = words.slice(0, of.pick([24, 24, 24, 23])).join(' ')
  const verdict = await verdictOf(() => {
    const seed = parsePaper(input)
    return [hex(seed as Bytes), hex(recoveryKeySeed(seed) as Bytes)]
  })
  to.add({ ask: 'paper', input }, verdict)
}

async function askSignature(of: Random, to: Comparison) {
  const pair = newKeyPair(of)
  const [key, message] = [flipped(of, pair.publicKey, 6), of.bytes(of.below(80))]
  let signature: Bytes = new Uint8Array(sign(null, message, pair.secret))
  // One in six has S + L, which is another spelling of the same signature.
  if (of.below(6) === 0) {
    const high = toLittleEndian(littleEndian(signature.slice(32)) + L)
    signature = new Uint8Array([...signature.slice(0, 32), ...high])
  }
  signature = flipped(of, signature, 3)
  const verdict = await verdictOf(() => verifyJws({ signature, signingInput: message }, key))
  const input = { key: hex(key), message: hex(message), signature: hex(signature) }
  to.add({ ask: 'signature', ...input }, { accept: true, value: verdict.accept })
}

function askSafetyNumber(of: Random, to: Comparison) {
  const [a, aRoot, bRoot] = [of.bytes(16), of.bytes(32), of.bytes(32)]
  // One account in two differs from the other in a single bit.
  const b = of.pick([flipped(of, a, 1), of.bytes(16)])
  const digits = safetyNumber(
    { account: idText('acc', a), root: aRoot },
    { account: idText('acc', b), root: bRoot },
  )
  const input = { a: hex(a), aRoot: hex(aRoot), b: hex(b), bRoot: hex(bRoot) }
  to.add({ ask: 'safety number', ...input }, { accept: true, value: digits.split(' ') })
}

/** Asks for the responder's side of a run that the program began. */
async function askFirstContact(of: Random, to: Comparison) {
  const words = wordsOf(indicesOf(of.bytes(6), 4)).join(' ')
  const [connection, inviter] = [idText('con', of.bytes(16)), idText('acc', of.bytes(16))]
  const input = contactInput({ words, sid: of.bytes(16), connection, inviter })
  const scalar = (): Bytes => toLittleEndian(mod(littleEndian(of.bytes(32)), L))
  const [adA, adB, own] = [of.bytes(56), of.bytes(88), scalar()]
  const run = initiate(input, adA, scalar())
  const question = {
    ask: 'first contact',
    role: 'responder',
    prs: words,
    sid: hex(input.sid as Bytes),
    ci: hex(input.ci as Bytes),
    scalar: hex(own),
    ad: hex(adB),
    share: hex(run.message.share as Bytes),
    otherAd: hex(adA),
  }
  const [answer] = await answersTo([question])
  assert.ok(answer?.accept)
  const [share, isk, tag, expectedTag] = answer.value as [string, string, string, string]
  const message = { share: Buffer.from(share, 'hex'), ad: adB, tag: Buffer.from(tag, 'hex') }
  const end = run.finish(message, adB)
  assert.deepEqual([hex(end.isk as Bytes), hex(end.tag as Bytes)], [isk, expectedTag], again)
  to.add(question, answer)
}

/** First and last code points of what is compared: all but Chinese characters and the like. */
const CHARACTERS = [
  [0, 0x3400],
  [0x4dc0, 0x4e20],
  [0x9fe0, 0xac80],
  [0xd780, 0xd800],
  [0xe000, 0xe010],
  [0xf900, 0x17000],
  [0x1b000, 0x20000],
  [0xe0000, 0xe0200],
] as const

/** Returns what a character becomes here, as `tests/answers.py` answers. */
function characterHere(code: number): unknown {
  const one = String.fromCodePoint(code)
  const beside = Array.from('aαа', (letter) => nameMarks(one + letter, new Set()).length > 0)
  return [readPurpose(one).shown, comparableName(one), beside]
}
