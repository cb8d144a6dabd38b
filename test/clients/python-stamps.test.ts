/** Compares stamps of the program and of the verifier in Python, in both directions. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { rmSync } from 'node:fs'
import { codeKey, codeReader, windowOf } from '../../src/crypto/code.ts'
import type { PublicJwk } from '../../src/crypto/jose/jwk.ts'
import { verifyStamp, type StampFile } from '../../src/crypto/stamp.ts'
import { terminal } from '../cli/terminal.ts'
import { base64url, type Bytes, hex, sha256, utf8 } from '../second/bytes.ts'
import { verdictOf } from '../second/compare.ts'
import { idText } from '../second/ids.ts'
import { type KeyLogHistory, keyLogHistory } from '../second/key-log-histories.ts'
import { again, type Random, random } from '../second/random.ts'
import { hashText, jwk, type KeyPair, newKeyPair, signed } from '../second/signing.ts'
import { randomJson } from '../second/texts.ts'
import { wordsOf } from '../second/words.ts'
import { changedStructure } from './changed.ts'
import { answersTo, Comparison, lacksPython, runPython } from './python.ts'

const skip = lacksPython()
/** More by hand: PROPERTY_RUNS=2000. */
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 60)

interface Made {
  readonly file: StampFile
  readonly content: Bytes
  readonly serverKey: PublicJwk
}

/** Returns a random stamp over a random key log, with one fault in most of them. */
function randomStamp(of: Random): Made {
  const history = keyLogHistory(of, 1 + of.below(8))
  const [content, server] = [of.bytes(of.below(100)), newKeyPair(of)]
  const { stamp, signer } = stampOver(of, history, content)
  const text = of.below(3) === 0 ? changedStructure(of, stamp, 'stamp+jws', signer) : stamp
  const receipt = receiptOf(of, text, server)
  const file = {
    stamp: text,
    key_log: of.below(8) === 0 ? history.entries.slice(1) : history.entries,
    ...(of.below(3) === 0 ? {} : { receipt }),
  }
  const other = of.below(8) === 0 ? of.bytes(9) : content
  const key = of.below(8) === 0 ? newKeyPair(of) : server
  return { file, content: other, serverKey: jwk(key.publicKey) }
}

function stampOver(of: Random, history: KeyLogHistory, content: Bytes) {
  const { account, entries, active, devices } = history
  const seq = of.below(entries.length)
  const device = of.pick(active[seq]!.length > 0 ? active[seq]! : [...devices.values()])
  const payload = {
    v: 2,
    jti: idText('stm', of.bytes(16)),
    iss: account,
    dev: device.id,
    sha256: base64url(sha256(content)),
    len: of.pick([content.length, content.length, null, content.length + 1]),
    media_type: of.pick([null, 'text/plain']),
    iat: of.below(2 ** 31),
    clock: of.pick([
      { source: 'server', offset_ms: of.below(2000) - 1000 },
      { source: 'local', offset_ms: 0 },
      { source: 'local', offset_ms: of.below(2) },
    ]),
    key_log: {
      seq,
      head: of.below(8) === 0 ? base64url(of.bytes(32)) : hashText(entries[seq]!),
    },
    ctx: of.pick([null, 'für 17 €', '\u202e']),
    assurance: of.pick(['device', 'device', 'device', 'device', 'device', 'organisation']),
  }
  return { stamp: signed('stamp+jws', payload, device.sign), signer: device.sign }
}

function receiptOf(of: Random, stamp: string, server: KeyPair): string {
  let jti: unknown = idText('stm', of.bytes(16))
  try {
    const payload = JSON.parse(Buffer.from(stamp.split('.')[1]!, 'base64url').toString()) as object
    if ('jti' in payload) ({ jti } = payload)
  } catch {
    // The payload of a changed stamp may be no JSON.
  }
  const payload = {
    v: 2,
    jti,
    stamp_sha256: of.below(8) === 0 ? base64url(of.bytes(32)) : hashText(stamp),
    received_at: of.below(2 ** 31),
    key_status: of.pick(['active', 'active', 'revoked']),
    assurance: of.pick(['device', 'verified_email', 'organisation']),
  }
  const receipt = signed('receipt+jws', payload, server)
  return of.below(4) === 0 ? changedStructure(of, receipt, 'receipt+jws', server) : receipt
}

const factsOf = (file: StampFile, given: Parameters<typeof verifyStamp>[1]) => {
  const {
    payload,
    device,
    root,
    generation,
    words,
    sha256: hash,
    assurance,
  } = verifyStamp(file, given)
  const found = [payload.iss, device, hex(root.hash as Bytes), generation]
  return [...found, words, base64url(hash as Bytes), assurance]
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-python-'))
after(() => rmSync(folder, { recursive: true }))
const written = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

describe('the verifier in Python', { skip }, () => {
  test(`agrees on ${RUNS} random stamps, changed and with a receipt`, async () => {
    const [of, comparison] = [random('python stamps'), new Comparison()]
    for (let round = 0; round < RUNS; round++) {
      const { file, content, serverKey } = randomStamp(of)
      const checks = of.pick([{ content, serverKey }, { content }, { serverKey }, {}])
      const verdict = await verdictOf(() => factsOf(file, checks))
      const question = {
        file: JSON.stringify(file),
        sha256: checks.content === undefined ? null : hex(sha256(content)),
        length: content.length,
        key: checks.serverKey ?? null,
      }
      comparison.add({ ask: 'stamp', ...question }, verdict)
    }
    const refused = await comparison.agree()
    assert.ok(refused > RUNS / 4 && refused < RUNS, `${refused} refusals, ${again}`)
  })

  test('reads ordinary JSON as JSON.parse does', async () => {
    const [of, comparison] = [random('python ordinary json'), new Comparison()]
    const odd = ['NaN', '[Infinity]', '-Infinity', '{"a":1,"a":2}', '\ufeff{}', '1'.repeat(5000)]
    const more = ['1e999', '"\\ud800"', '01', '', '\u00a01', '١', '1_000', "{'a':1}", '[1,]']
    const texts = [...odd, ...more, ...Array.from({ length: 500 }, () => randomJson(of))]
    for (const text of texts) {
      const data = utf8(text)
      const verdict = await verdictOf(() => {
        try {
          const value: unknown = JSON.parse(
            new TextDecoder('utf-8', { ignoreBOM: true }).decode(data),
          )
          return typeof value === 'object' && value !== null && !Array.isArray(value)
        } catch {
          throw Object.assign(new Error(), { reason: 'bad_json' })
        }
      })
      comparison.add({ ask: 'ordinary json', data: hex(data) }, verdict)
    }
    await comparison.agree()
  })

  test('makes stamps that the program verifies', async () => {
    const of = random('python made stamps')
    const contents = Array.from({ length: 5 }, () => of.bytes(of.below(100)))
    const questions = contents.map((content) => ({
      ask: 'made stamp',
      seed: hex(of.bytes(32)),
      content: hex(content),
    }))
    for (const [i, answer] of (await answersTo(questions)).entries()) {
      assert.ok(answer.accept)
      const {
        receipt_key: serverKey,
        root,
        ...file
      } = answer.value as StampFile & {
        receipt_key: PublicJwk
        root: string
      }
      const facts = verifyStamp(file, { content: contents[i]!, serverKey })
      assert.equal(hex(facts.root.hash as Bytes), root)
      assert.deepEqual([facts.assurance, facts.payload.ctx], ['organisation', 'größer als 17 €'])
      const other = { content: utf8('other'), serverKey }
      assert.throws(() => verifyStamp(file, other), { reason: 'digest_mismatch' })
    }
  })

  test('checks a stamp file of the program as a command', async () => {
    const of = random('python command')
    const history = keyLogHistory(of, 1)
    const device = [...history.devices.values()][0]!
    const [content, server] = [utf8('pay 17 to the usual account\n'), newKeyPair(of)]
    const payload = {
      v: 2,
      jti: idText('stm', of.bytes(16)),
      iss: history.account,
      dev: device.id,
      sha256: base64url(sha256(content)),
      len: content.length,
      media_type: null,
      iat: 1767225600,
      clock: { source: 'local', offset_ms: 0 },
      key_log: { seq: 0, head: hashText(history.entries[0]!) },
      ctx: 'invoice\u001b[2J',
      assurance: 'device',
    }
    const stamp = signed('stamp+jws', payload, device.sign)
    const receipt = signed(
      'receipt+jws',
      {
        v: 2,
        jti: payload.jti,
        stamp_sha256: hashText(stamp),
        received_at: 1767225603,
        key_status: 'active',
        assurance: 'verified_email',
      },
      server,
    )
    const file = written('content', content)
    const path = written('stamp', JSON.stringify({ stamp, key_log: history.entries, receipt }))
    const key = written('key', JSON.stringify(jwk(server.publicKey)))
    const root = Buffer.from(hashText(history.entries[0]!), 'base64url').toString('hex')
    const verify = (...args: string[]) => runPython(['countersign', 'stamp', 'verify', ...args])

    const unknown = await verify(file, path)
    assert.equal(unknown.code, 11, unknown.stderr)
    assert.match(unknown.stdout, new RegExp(`root {9}${root}\n`))
    assert.match(unknown.stdout, /context {6}invoice\\u\{1b\}\[2J/)
    const good = await verify(file, path, '--root', root.toUpperCase(), '--receipt-key', key)
    assert.equal(good.code, 0, good.stderr)
    assert.match(
      good.stdout,
      /received at {2}2026-01-01T00:00:03\.000Z\nassurance {4}verified_email/,
    )
    const program = terminal(join(folder, 'state'))
    for (const more of [
      [],
      ['--root', root],
      ['--root', root, '--receipt-key', key],
      ['--root', 'a'.repeat(64)],
    ]) {
      const args = [file, path, ...more, '--json']
      const [json, expected] = [await verify(...args), await program(['stamp', 'verify', ...args])]
      assert.equal(json.code, expected.code)
      assert.deepEqual(JSON.parse(json.stdout), JSON.parse(expected.out))
    }

    const other = await verify(path, path)
    assert.deepEqual([other.code, other.stdout], [10, ''])
    assert.match(other.stderr, /digest_mismatch/)
    const broken = await verify(file, file)
    assert.deepEqual([broken.code, /bad_json/.test(broken.stderr)], [10, true])
    const absent = await verify(file, join(folder, 'absent'))
    assert.deepEqual([absent.code, /absent: No such file/.test(absent.stderr)], [1, true])
    assert.equal((await verify(file, path, '--root', 'abc')).code, 2)
  })

  test('prints the words of a guest from the link on standard input', async () => {
    const of = random('python guest')
    const [subject, key, owner] = [of.bytes(16), of.bytes(32), of.bytes(16)]
    const kc = codeKey({
      label: 'countersign/v2/guest',
      key,
      subject,
      epoch: 1,
      head: new Uint8Array(32),
    })
    const link = `https://example.org/g/${idText('gst', subject)}#${base64url(key)}\n`
    const account = idText('acc', owner)
    // The window may change while the command runs.
    const before = windowOf(Date.now())
    const run = await runPython(['countersign', 'code', 'guest', '--account', account], link)
    const windows = [before, windowOf(Date.now())]
    assert.equal(run.code, 0, run.stderr)
    const expected = windows.map((window) => {
      const [guest, other] = [subject, owner].map((speaker) =>
        wordsOf(codeReader(kc)(window, speaker)).join(' '),
      )
      return `guest   ${guest}\nowner   ${other}\n`
    })
    assert.ok(expected.includes(run.stdout), run.stdout)
    const cut = await runPython(['countersign', 'code', 'guest'], link.slice(0, -9))
    assert.equal(cut.code, 10)
    assert.ok(!cut.stderr.includes(base64url(key).slice(0, 20)), 'the secret is not repeated')
    const wrong = await runPython(['countersign', 'code', 'guest', '--account', 'null'], link)
    assert.equal(wrong.code, 10)
    assert.equal(wrong.stdout, '', 'no words without the account')
  })
})
