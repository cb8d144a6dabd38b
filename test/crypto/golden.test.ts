/** Tests the numbers that docs/protocol.md prints, and the list of words. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { challengeReader, readPurpose } from '../../src/crypto/challenge.ts'
import { codeKey, codeReader, LABEL, windowOf, ZERO_HEAD } from '../../src/crypto/code.ts'
import type { Label } from '../../src/crypto/encoding/hash-input.ts'
import { LIST_ID, WORDLIST } from '../../src/crypto/wordlist.ts'
import { wordsAt } from '../../src/crypto/words.ts'

const fill = (byte: number, length: number) => new Uint8Array(length).fill(byte)
const key = new Uint8Array(Buffer.from('00112233445566778899aabbccddeeff'.repeat(2), 'hex'))
const [con, a, b] = [fill(0x01, 16), fill(0xaa, 16), fill(0xbb, 16)]
const [head1, head2] = [fill(0x11, 32), fill(0x22, 32)]
const now = windowOf(1767225600_000)

const { connection, guest, public: open } = LABEL
// prettier-ignore
const golden: [string, Label, Uint8Array, number, Uint8Array, Uint8Array, number, string, string][] =
  [
    ['connection, A', connection, con, 1, head1, a, now, 'f02d0c7f8ae7782a', '4035 3775 113 wildlife uncaring amplify'],
    ['connection, B', connection, con, 1, head1, b, now, 'f02d0c7f8ae7782a', '2662 764 2483 proclaim confusion parsley'],
    ['a minute later', connection, con, 1, head1, a, now + 1, 'f02d0c7f8ae7782a', '390 3366 2892 bouncy spree reorder'],
    ['epoch 2', connection, con, 2, head2, a, now, 'fa938b1aea06f8f4', '532 2835 564 carpentry refund cavalier'],
    ['guest', guest, con, 1, ZERO_HEAD, a, now, '617f927f910cff27', '1598 532 182 garment carpentry aptly'],
    ['public', open, a, 1, ZERO_HEAD, a, now, 'ec8c57ef204c3b0b', '2405 1263 1121 outtakes elective disposal'],
  ]

const readDocument = () =>
  readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8').replace(/ +/g, ' ')

describe('section 2', () => {
  test('the window of the vectors', () => assert.equal(now, 29453760))
  for (const [name, label, subject, epoch, head, speaker, window, kc, words] of golden) {
    test(name, () => {
      const found = codeKey({ label, key, subject, epoch, head })
      assert.equal(Buffer.from(found.subarray(0, 8)).toString('hex'), kc)
      const indices = codeReader(found)(window, speaker)
      assert.equal([...indices, ...wordsAt(indices)].join(' '), words)
    })
  }
  test('words for one listener', () => {
    const kc = codeKey({ label: connection, key, subject: con, epoch: 1, head: head1 })
    const purpose = readPurpose('pay 12000 to 1234')
    const of = { window: now, speaker: a, listener: b, challenge: 0, purpose }
    const indices = challengeReader(kc)(of)
    assert.equal(indices.join(' '), '3827 3353 1164')
    const text = `${indices.join(' ')}, \`${wordsAt(indices).join(' ')}\``
    assert.ok(readDocument().includes(text), text)
  })
  test('the document prints the same rows', () => {
    const document = readDocument()
    for (const row of golden) {
      const [, ...match] = /^(\d+ \d+ \d+) (.*)$/.exec(row[8])!
      assert.ok(document.includes(`| \`${row[7]}\` | ${match.join(' | ')} |`), row[0])
    }
  })
})

describe(LIST_ID, () => {
  const words = WORDLIST.trimEnd().split('\n')
  test('is the frozen list, byte for byte', () => {
    assert.equal(
      createHash('sha256').update(WORDLIST).digest('hex'),
      '9777a12202c22b14201a9b9c19aebfbb693123686b1d6fab44a10c4968a34eb5',
    )
  })
  test('holds 4096 words of 4 to 9 letters, sorted', () => {
    assert.equal(words.length, 4096)
    assert.deepEqual(words, words.toSorted())
    assert.deepEqual(
      words.filter((word) => !/^[a-z]{4,9}$/.test(word)),
      [],
    )
  })
  test('is prefix-free', () => {
    // In a sorted list, a word that is a prefix of another is a prefix of its neighbour.
    const begun = words.filter((word, i) => words[i + 1]?.startsWith(word))
    assert.deepEqual(begun, [])
  })
})
