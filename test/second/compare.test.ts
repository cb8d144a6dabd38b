/**
 * Compares two independent implementations of protocol 2 on 10,000 random inputs.
 * The inputs are the computations of one side.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountIdOf } from '../../src/crypto/device-public-keys.ts'
import { challengeReader, readPurpose } from '../../src/crypto/challenge.ts'
import { codeKey as firstCodeKey, codeReader } from '../../src/crypto/code.ts'
import {
  approvalWords,
  checkReveal as firstCheckReveal,
  commitmentTo,
  transcriptOf,
} from '../../src/crypto/device-approval.ts'
import { comparableName, nameMarks } from '../../src/crypto/encoding/display-names.ts'
import { formatId, parseId } from '../../src/crypto/encoding/id.ts'
import { parseJson as firstParseJson } from '../../src/crypto/encoding/json.ts'
import {
  paperWords,
  parsePaper,
  recoveryKeySeed as firstKeySeed,
} from '../../src/crypto/recovery-paper.ts'
import { parseWords as firstParseWords } from '../../src/crypto/words.ts'
import { accountOf } from './account-id.ts'
import { checkReveal, commitment, shown, transcript } from './approval.ts'
import { type Bytes, hex, utf8 } from './bytes.ts'
import { code, codeKey, mac2, purposeShown } from './codes.ts'
import { agree, verdictOf } from './compare.ts'
import { idBytes, idText, type Prefix } from './ids.ts'
import { parseJson } from './json.ts'
import { folded, marks } from './names.ts'
import { again, type Random } from './random.ts'
import { paperOf, readPaper, recoveryKeySeed } from './recovery.ts'
import { randomJson, randomText } from './texts.ts'
import { indicesOf, LIST, parseWords, wordsOf } from './words.ts'
import { flipped, randomWindow, ROUNDS, rounds, mutated } from './rounds.ts'

test('there are 10,000 inputs', () => {
  const total = Object.values(ROUNDS).reduce((sum, count) => sum + count, 0)
  assert.equal(total, 10_000)
})

rounds('words', async (of) => {
  const count = of.pick([1, 3, 4, 6, 24])
  const words = wordsOf(indicesOf(of.bytes(36), count))
  const typed = words.map((word) => of.pick([word, word.toUpperCase()]))
  const input = mutated(of, typed.join(of.pick(['', ' ', '-', '\n2. '])), 3)
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
  const text = mutated(of, idText(prefix, id), 2)
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
  const input = `${again}, ${JSON.stringify(text)}`
  assert.equal(first.accept, second.accept, input)
  if (first.accept && second.accept) assert.deepEqual(first.value, second.value, input)
})

const randomCodeKey = (of: Random) => ({
  label: of.pick(['countersign/v2/code', 'countersign/v2/guest', 'countersign/v2/public'] as const),
  key: of.bytes(32),
  subject: of.bytes(16),
  epoch: of.below(2 ** 32),
  head: of.bytes(32),
})

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
/** Returns the same keys in the form of the first implementation. */
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
