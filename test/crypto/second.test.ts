/**
 * Implements sections 1 to 3 a second time, from the document and node:crypto.
 * It also compares with the libraries that third parties would use. It imports nothing of src but
 * the functions under test.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as node from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CompactSign, compactVerify, importJWK } from 'jose'
import { challengeReader, readPurpose } from '../../src/crypto/challenge.ts'
import { codeKey, codeReader } from '../../src/crypto/code.ts'
import { newDeviceKeys } from './keys.ts'
import type { Label } from '../../src/crypto/encoding/hash-input.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash, parseJws } from '../../src/crypto/jose/jws.ts'
import { signJws, verifyJws } from '../../src/crypto/jose/jws-signature.ts'
import { firstIndices, parseWords, wordsAt } from '../../src/crypto/words.ts'

const ROUNDS = 10_000
const seed = process.env['SEED'] ?? String(Date.now())
const again = `again with SEED=${seed}`

/** Returns a stream of bytes that a seed repeats. */
function generator(name: string) {
  const key = node.createHash('sha256').update(`${name} ${seed}`).digest()
  const stream = node.createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  const bytes = (length: number) => new Uint8Array(stream.update(Buffer.alloc(length)))
  const number = (bits: number) =>
    Number(Buffer.from(bytes(8)).readBigUInt64BE() >> BigInt(64 - bits))
  return { bytes, number }
}

const list = readFileSync(new URL('../../docs/en-4096.txt', import.meta.url), 'utf8').split('\n')

test(`section 1: the words of ${ROUNDS} random bit strings`, () => {
  const { bytes, number } = generator('words')
  for (let i = 0; i < ROUNDS; i++) {
    const count = number(1) === 0 ? 3 : 6
    const data = bytes(32)
    const bits = [...data].map((byte) => byte.toString(2).padStart(8, '0')).join('')
    const wanted = Array.from({ length: count }, (_, w) =>
      parseInt(bits.slice(w * 12, w * 12 + 12), 2),
    )
    const words = wanted.map((index) => list[index]!)
    assert.deepEqual(firstIndices(data, count), wanted, again)
    assert.deepEqual(wordsAt(wanted), words, again)
    assert.deepEqual(parseWords(words.join(''), count), { words, indices: wanted }, again)
  }
})

test(`section 2: ${ROUNDS} random codes`, () => {
  const { bytes, number } = generator('codes')
  const labels = ['code', 'guest', 'public'].map((name): Label => `countersign/v2/${name}`)
  for (let i = 0; i < ROUNDS; i++) {
    const of = {
      label: labels[i % 3]!,
      key: bytes(32),
      subject: bytes(16),
      epoch: number(32),
      head: bytes(32),
    }
    const [window, speaker] = [number(i % 2 === 0 ? 53 : 26), bytes(16)]

    const epoch = Buffer.alloc(4)
    epoch.writeUInt32BE(of.epoch)
    const info = Buffer.concat([Buffer.from(`${of.label}\0`), epoch, of.head])
    const kc = Buffer.from(node.hkdfSync('sha256', of.key, of.subject, info, 32))
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(window))
    const mac = node
      .createHmac('sha256', kc)
      .update(Buffer.concat([Buffer.of(1), time, speaker]))
      .digest()
    const first = mac.readBigUInt64BE() >> 28n
    const wanted = [24n, 12n, 0n].map((shift) => Number((first >> shift) & 4095n))

    const found = codeKey(of)
    assert.equal(Buffer.from(found).toString('hex'), kc.toString('hex'), again)
    assert.deepEqual(codeReader(found)(window, speaker), wanted, again)
  }
})

test(`section 2: ${ROUNDS} random words for one listener and purpose`, () => {
  const { bytes, number } = generator('challenges')
  // Letters, digits, dropped characters, characters that NFKC and lower case change, and
  // combinations of them.
  const alphabet = Array.from('aZß9٣ςΣİﬁ①²Å .,-_€é\u0301\u1100\u1161\u3164\u{1d7d8}\u{10400}')
  for (let i = 0; i < ROUNDS; i++) {
    const typed = Array.from({ length: number(4) }, () => alphabet[number(5) % alphabet.length])
    const shown = Array.from(typed.join('').normalize('NFKC').toLowerCase())
      .map((letter) => (letter === 'ς' ? 'σ' : letter))
      .filter((letter) => /^[\p{L}\p{Nd}]$/u.test(letter))
      .join('')
    const [kc, speaker, listener] = [bytes(32), bytes(16), bytes(16)]
    const [window, challenge] = [number(i % 2 === 0 ? 53 : 26), number(12)]
    const message = Buffer.alloc(43)
    message.writeUInt8(2)
    message.writeBigUInt64BE(BigInt(window), 1)
    message.set(speaker, 9)
    message.set(listener, 25)
    message.writeUInt16BE(challenge, 41)
    const purpose = node.createHash('sha256').update(shown).digest()
    const mac = node.createHmac('sha256', kc).update(message).update(purpose).digest()
    const wanted = mac.toString('hex').match(/.../g)!.slice(0, 3)

    const read = readPurpose(typed.join(''))
    assert.equal(read.shown, shown, again)
    const of = { window, speaker, listener, challenge, purpose: read }
    const found = challengeReader(kc)(of).map((index) => index.toString(16).padStart(3, '0'))
    assert.deepEqual(found, [...wanted], again)
  }
})

test('one reader works in any order', () => {
  const { bytes, number } = generator('order')
  const kc = bytes(32)
  const reader = codeReader(kc)
  const asked = Array.from({ length: 50 }, () => [number(40), bytes(16)] as const)
  const first = asked.map(([window, speaker]) => reader(window, speaker))
  const second = asked.toReversed().map(([window, speaker]) => codeReader(kc)(window, speaker))
  assert.deepEqual(second.toReversed(), first)
})

describe('section 3: peers', () => {
  const { sign } = newDeviceKeys()
  const kid = thumbprint(sign.jwk)
  const header = { alg: 'Ed25519', typ: 'stamp+jws', kid }
  const payload = { v: 2, text: 'grün \u{1F511}', at: 1767225600 }
  const jws = signJws('stamp+jws', kid, payload, sign.secret)

  test('jose verifies what we sign', async () => {
    const found = await compactVerify(jws, await importJWK(sign.jwk, 'Ed25519'), {
      algorithms: ['Ed25519'],
    })
    assert.deepEqual({ ...found.protectedHeader }, header)
    assert.deepEqual(JSON.parse(Buffer.from(found.payload).toString()), payload)
  })
  test('jose rejects a changed one', async () => {
    const [, , signature] = jws.split('.')
    const other = signJws('stamp+jws', kid, { ...payload, at: 0 }, sign.secret).split('.')
    const mixed = [other[0], other[1], signature].join('.')
    const key = await importJWK(sign.jwk, 'Ed25519')
    await assert.rejects(compactVerify(mixed, key), {
      code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    })
    assert.throws(() => verifyJws(parseJws(mixed, 'stamp+jws'), raw()), { reason: 'bad_signature' })
  })
  test('we verify what jose signs', async () => {
    const d = Buffer.from(sign.secret).toString('base64url')
    const theirs = await new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader(header)
      .sign(await importJWK({ ...sign.jwk, d }, 'Ed25519'))
    const parsed = parseJws(theirs, 'stamp+jws')
    verifyJws(parsed, raw())
    assert.deepEqual(Object.fromEntries(parsed.payload), payload)
    // Ed25519 is deterministic, so equal headers and payloads are equal characters.
    assert.equal(theirs, jws)
  })
  test('thumbprint and hash equal those of jose and node', async () => {
    const { calculateJwkThumbprint } = await import('jose')
    assert.equal(kid, await calculateJwkThumbprint(sign.jwk))
    const hash = node.createHash('sha256').update(jws, 'ascii').digest('hex')
    assert.equal(Buffer.from(entryHash(jws)).toString('hex'), hash)
  })
  test('openssl pkeyutl -rawin verifies what we sign', { skip: openssl() }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-'))
    const file = (name: string, data: string | Uint8Array) => {
      writeFileSync(join(folder, name), data)
      return join(folder, name)
    }
    try {
      const [head, body, signature] = jws.split('.') as [string, string, string]
      const key = node.createPublicKey({ key: { ...sign.jwk }, format: 'jwk' })
      const args = ['pkeyutl', '-verify', '-pubin', '-rawin']
      args.push('-inkey', file('key.pem', key.export({ format: 'pem', type: 'spki' }) as string))
      args.push('-sigfile', file('sig', Buffer.from(signature, 'base64url')))
      const run = (input: string) => execFileSync('openssl', [...args, '-in', file('in', input)])
      assert.match(String(run(`${head}.${body}`)), /Verified Successfully/)
      assert.throws(() =>
        execFileSync('openssl', [...args, '-in', file('in', `${body}.${head}`)], { stdio: 'pipe' }),
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  const raw = () => new Uint8Array(Buffer.from(sign.jwk.x, 'base64url'))
})

/** Returns the reason why the openssl comparison cannot run here, or false. */
function openssl(): string | false {
  try {
    return /^OpenSSL [3-9]/.test(String(execFileSync('openssl', ['version'])))
      ? false
      : 'openssl < 3'
  } catch {
    return 'no openssl'
  }
}
