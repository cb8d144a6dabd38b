/** Tests text forms: they represent any value, and each value has one spelling. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { formatId, isId, newId, parseId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { checkToken, newToken, tokenFrom } from '../../src/crypto/token.ts'
import { parseWords, wordsAt } from '../../src/crypto/words.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
/** The length of the longest word of the list. */
const LONGEST_WORD = 9
const ALNUM = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('base64url', () => {
  test('agrees with Buffer and decodes to the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
        const text = encodeBase64url(data)
        assert.equal(text, Buffer.from(data).toString('base64url'))
        assert.deepEqual(decodeBase64url(text), data)
      }),
    )
  })
  test('decoded text encodes to the same characters', () => {
    const near = fc.string({
      unit: fc.constantFrom(...ALNUM.split(''), '-', '_', '+', '/', '=', '\n'),
      maxLength: 12,
    })
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: 'binary', maxLength: 12 })), (text) => {
        const again = Buffer.from(text, 'base64url').toString('base64url')
        if (again === text) return assert.equal(encodeBase64url(decodeBase64url(text)), text)
        assert.throws(() => decodeBase64url(text), { reason: 'respelt_base64' })
      }),
      { numRuns: 2000 },
    )
  })
})

describe('ids', () => {
  test('are read back, and sort by their bytes', () => {
    fc.assert(
      fc.property(bytes(16), bytes(16), (a, b) => {
        const [x, y] = [formatId(ID_PREFIX.device, a), formatId(ID_PREFIX.device, b)]
        assert.deepEqual(parseId(ID_PREFIX.device, x), a)
        assert.ok(isId(ID_PREFIX.device, x) && !isId(ID_PREFIX.account, x))
        assert.equal(x < y, Buffer.compare(a, b) < 0)
      }),
    )
  })
  test('isId and parseId agree', () => {
    const body = fc.string({
      unit: fc.constantFrom(...'0123789abcdefghijklmnoprstuvxyzA\n'.split('')),
      minLength: 25,
      maxLength: 27,
    })
    fc.assert(
      fc.property(body, (text) => {
        const parses = () => parseId('tok_', `tok_${text}`)
        if (isId('tok_', `tok_${text}`)) parses()
        else assert.throws(parses, Refusal)
      }),
    )
  })
  test('new ones increase, also within a millisecond and when the clock steps back', () => {
    const start = 2 ** 45
    const times = Array.from(
      { length: 10_000 },
      (_, i) => start + (i < 6000 ? 0 : i < 8000 ? 5 : -9),
    )
    const ids = times.map((ms) => newId('ver_', ms))
    assert.deepEqual(ids, ids.toSorted())
    assert.equal(new Set(ids).size, ids.length)
  })
  test('new ones are UUIDv7', () => {
    const ms = 2 ** 46 + 123456
    const id = parseId(ID_PREFIX.account, newId(ID_PREFIX.account, ms))
    const view = new DataView(id.buffer)
    assert.equal(view.getUint16(0) * 2 ** 32 + view.getUint32(2), ms)
    assert.equal(view.getUint8(6) >> 4, 7)
    assert.equal(view.getUint8(8) >> 6, 2)
  })
})

describe('tokens', () => {
  const derived = fc.uint8Array({ minLength: 32, maxLength: 64 })
  test('of any secret are valid, stable, and bound to their prefix', () => {
    fc.assert(
      fc.property(derived, (secret) => {
        const token = tokenFrom('csd_', secret)
        assert.match(token, /^csd_[0-9A-Za-z]{36}$/)
        assert.equal(checkToken(token), 'csd')
        assert.equal(tokenFrom('csd_', secret), token)
        assert.throws(() => checkToken(token.replace('csd', 'csm')), { reason: 'check' })
      }),
    )
  })
  test('with one changed character are rejected', () => {
    fc.assert(
      fc.property(
        derived,
        fc.nat(35),
        fc.constantFrom(...ALNUM.split('')),
        (secret, at, character) => {
          const token = tokenFrom('csm_', secret)
          const changed = token.slice(0, at + 4) + character + token.slice(at + 5)
          if (changed === token) return
          assert.throws(() => checkToken(changed), { reason: 'check' })
        },
      ),
    )
  })
  test('use every character about equally often', () => {
    const counts = new Map<string, number>()
    for (let i = 0; i < 2000; i++) {
      for (const character of newToken('csd_').slice(4, 34)) {
        counts.set(character, (counts.get(character) ?? 0) + 1)
      }
    }
    // 60,000 draws over 62: 968 each, standard deviation 31. A deviation of eight times that does
    // not occur.
    assert.equal(counts.size, 62)
    for (const [character, count] of counts) assert.ok(Math.abs(count - 968) < 248, character)
  })
  test('need 32 bytes', () => {
    assert.throws(() => tokenFrom('csd_', new Uint8Array(31)), { reason: 'bad_length' })
  })
})

describe('words', () => {
  const index = fc.nat(4095)
  const separator = fc.constantFrom(
    ' ',
    '-',
    '. ',
    '…',
    '\t\r\n',
    ' 1) ',
    '\u00a0',
    '_',
    '’',
    '\u{1F511}',
  )
  const shape = fc.constantFrom<(word: string) => string>(
    (word) => word,
    (word) => word.toUpperCase(),
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
    (word) => word.replace(/./g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
  )
  test('are read back in any spelling', () => {
    const any = fc.tuple(
      fc.tuple(index, index, index),
      fc.array(fc.oneof(separator, fc.constant('')), { minLength: 4, maxLength: 4 }),
      shape,
    )
    fc.assert(
      fc.property(any, ([indices, gaps, write]) => {
        const words = wordsAt(indices)
        const input = gaps[0] + words.map((word, i) => write(word) + gaps[i + 1]).join('')
        assert.deepEqual(parseWords(input, 3), { words, indices })
      }),
      { numRuns: 2000 },
    )
  })
  test('with one letter dropped are unknown, and the word is suggested', () => {
    fc.assert(
      fc.property(
        fc.tuple(index, index, index),
        fc.nat(2),
        fc.nat(8),
        fc.boolean(),
        (indices, which, at, spaced) => {
          const words = wordsAt(indices)
          const meant = words[which]!
          const cut = at % meant.length
          const typed = words.with(which, meant.slice(0, cut) + meant.slice(cut + 1))
          try {
            parseWords(typed.join(spaced ? ' ' : ''), 3)
          } catch (error) {
            assert.ok(error instanceof Refusal)
            assert.equal(error.reason, 'unknown_word')
            assert.ok(error.details.suggestions!.length <= 5)
            if (spaced)
              assert.ok(error.details.suggestions!.includes(meant), `${typed.join(' ')}: ${meant}`)
            return
          }
          // Without spaces, three other words can result; the minimum distance between words
          // prevents that with spaces.
          assert.ok(!spaced)
        },
      ),
      { numRuns: 500 },
    )
  })
  const typos: [string, string, string[]][] = [
    ['two errors in one run', 'matdorcarlodrecede', ['matador']],
    ['one error in a run that begins with another word', 'pathscarloadrecede', ['path']],
    ['swapped neighbours', 'recdee matador zoom', ['recede']],
    ['an incomplete word', 'zoom zoom matad', ['matador']],
    ['no similar word', 'zoom zoom bitcoin', []],
    ['far too long', 'b'.repeat(65), []],
  ]
  for (const [name, input, near] of typos) {
    test(`suggest: ${name}`, () => {
      assert.throws(
        () => parseWords(input, 3),
        ({ reason, details: { suggestions = [] } }: Refusal) =>
          reason === 'unknown_word' &&
          near.every((word) => suggestions.includes(word)) &&
          (near.length > 0 || suggestions.length === 0),
      )
    })
  }
  test('rejects indices without a word', () => {
    for (const bad of [-1, 4096, 0.5, NaN])
      assert.throws(() => wordsAt([bad]), { reason: 'bad_value' })
  })
  test('stays bounded on 10 kB of any input: the look-ups are linear in it', (t) => {
    const lookUps = t.mock.method(Map.prototype, 'has')
    const hostile = {
      words: 'path'.repeat(2500),
      letters: 'z'.repeat(10_000),
      separators: '-'.repeat(10_000),
      marks: `a${'\u0301\u0316'.repeat(2500)}`,
      expanding: '\ufdfa'.repeat(3333),
      typo: `${'path'.repeat(14)}abstrac`,
    }
    for (const [name, input] of Object.entries(hostile)) {
      lookUps.mock.resetCalls()
      assert.throws(() => parseWords(input, 3), Refusal)
      const count = lookUps.mock.callCount()
      assert(count <= LONGEST_WORD * input.normalize('NFKC').length, `${name}: ${count} look-ups`)
    }
  })
})
