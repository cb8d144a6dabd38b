/**
 * The stamp page in a real browser, against a site that serves it as the account server does.
 * `UPDATE_SCREENSHOTS=1 node --test --test-global-setup=test/setup.ts
 * test/pages/stamp-page.test.ts` makes its screenshot.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { logEntry, newDevice } from '../crypto/builders.ts'
import { firstOf, newDeviceKeys } from '../crypto/keys.ts'
import { newId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { signReceipt, signStamp, stampFragment, stampWords } from '../../src/crypto/stamp.ts'
import {
  assertFits,
  dropFile,
  HOSTILE,
  onDemand,
  saveScreenshot,
  skip,
  T0,
  visitor,
  type Visitor,
} from './browser.ts'
import { startSite, type Site } from './site.ts'

let visit: Visitor
let site: Site
before(async () => {
  if (skip) return
  ;[visit, site] = await Promise.all([visitor(), startSite(T0)])
})
after(async () => {
  await visit?.close()
  await site?.close()
})

/** Creates a stamp on the site, with its file as the server serves it. */
function newStamp(of: { receipt?: boolean; ctx?: string; claim?: 'organisation' } = {}) {
  const content = Buffer.from('The transfer was agreed by telephone.\n')
  const [device, jti] = [ID_PREFIX.device, ID_PREFIX.stamp].map((p) => newId(p, T0))
  const [keys, server] = [newDeviceKeys(), newDeviceKeys()]
  const at = T0 / 1000
  const { account, entry: log } = firstOf(device!, keys, at - 60)
  const claims = {
    jti: jti!,
    iss: account,
    dev: device!,
    sha256: encodeBase64url(entryHash(content.toString())),
    len: content.length,
    media_type: 'text/plain',
    iat: at,
    clock: { source: 'server' as const, offset_ms: 3 },
    key_log: { seq: 0, head: encodeBase64url(entryHash(log)) },
    ctx: of.ctx ?? null,
    assurance: of.claim ?? ('device' as const),
  }
  const jws = signStamp(claims, thumbprint(keys.sign.jwk), keys.sign.secret)
  const seen = { received_at: at + 4, key_status: 'active', assurance: 'verified_email' } as const
  const receipt = signReceipt(jws, seen, thumbprint(server.sign.jwk), server.sign.secret)
  const bare = { stamp: jws, key_log: [log], receipt_key: server.sign.jwk }
  const file = of.receipt === false ? bare : { ...bare, receipt }
  site.stamps.set(jti!, file)
  const plain = `${site.origin}/s/${jti}`
  return {
    jti: jti!,
    account: account,
    device: device!,
    kid: thumbprint(keys.sign.jwk),
    root: createHash('sha256').update(log).digest('hex'),
    hex: createHash('sha256').update(content).digest('hex'),
    jws,
    file,
    receipt,
    content,
    plain,
    link: `${plain}#${stampFragment(jws)}`,
  }
}

/** Returns the kind of the page’s result, the reason of a rejection, and all its text. */
async function result(page: Page) {
  const found = page.locator('#result:not([data-kind="wait"])')
  await found.waitFor()
  const [kind, reason] = [
    await found.getAttribute('data-kind'),
    await found.getAttribute('data-reason'),
  ]
  return { kind, reason, text: await page.innerText('main') }
}

describe('the stamp page', { skip }, () => {
  it('shows the content of a valid stamp, with claim and receipt separate', async () => {
    const stamp = newStamp({ ctx: HOSTILE })
    await using page = await visit.open(stamp.link)
    const { kind, text } = await result(page)
    assert.equal(kind, 'ok')
    for (const part of [
      'the link was made for this stamp',
      stamp.account,
      stamp.device,
      stamp.kid,
      stamp.hex,
      stampWords(stamp.jws).join(' '),
      'never evidence',
      '1 January 2026 at 09:30:12 UTC',
      '1 January 2026 at 09:30:16 UTC',
      'Verified e-mail',
      'According to the server’s receipt',
      'Only the server confirms which account signed',
      stamp.root,
      'text/plain',
      `${stamp.content.length} bytes`,
      HOSTILE,
    ]) {
      assert.ok(text.includes(part), `${part} in ${text}`)
    }
    assert.equal(await page.locator('img').count(), 0)
  })

  it('reports a missing receipt, and an assurance of the device alone', async () => {
    await using page = await visit.open(newStamp({ receipt: false }).link)
    const { kind, text } = await result(page)
    assert.equal(kind, 'ok')
    assert.ok(
      text.includes('No receipt yet') &&
        text.includes('Only a receipt could prove a higher level.'),
    )
    assert.ok(text.includes('Device: one device signed'))
  })

  it('rejects a stamp that claims more than a device, with any receipt', async () => {
    for (const receipt of [true, false]) {
      await using page = await visit.open(newStamp({ claim: 'organisation', receipt }).link)
      const { kind, reason, text } = await result(page)
      assert.deepEqual([kind, reason], ['bad', 'assurance_claimed'])
      assert.ok(!text.includes('Organisation'), text)
    }
  })

  it('warns that a link without a fragment only shows the server’s data', async () => {
    await using page = await visit.open(newStamp().plain)
    const { kind, text } = await result(page)
    assert.equal(kind, 'warn')
    assert.ok(text.includes('cannot check that the link was made for this stamp'))
  })

  it('rejects a changed stamp, and shows nothing of it', async () => {
    const [stamp, other] = [newStamp({ receipt: false }), newStamp()]
    const { file, jws, plain } = stamp
    const mallory = newDevice()
    const forged = logEntry(stamp.account, [], 'add', mallory, mallory)
    const mirrored = jws.replace(/.(?=.{9}$)/, (last) => (last === 'A' ? 'B' : 'A'))
    const cases: [served: object, fragment: string, reason: string][] = [
      [file, `#${stampFragment(other.jws)}`, 'other_stamp'],
      [file, `#${stampFragment(jws)}A`, 'other_stamp'],
      [other.file, '', 'other_id'],
      // Without a fragment: with one, the page would reject them earlier.
      [{ ...file, stamp: respell(jws, '"len":38', '"len":39') }, '', 'bad_signature'],
      [{ ...file, stamp: respell(jws, '"len":38', '"len":-1') }, '', 'bad_value'],
      [{ ...file, stamp: mirrored }, '', 'bad_signature'],
      [{ ...file, stamp: 'nothing' }, '', 'malformed'],
      [{ ...file, key_log: [] }, '', 'empty'],
      [{ ...file, key_log: other.file.key_log }, '', 'wrong_account'],
      [{ ...file, key_log: [forged] }, '', 'account_mismatch'],
      [{ ...file, receipt: other.receipt }, '', 'unknown_signer'],
      [{}, '', 'malformed'],
    ]
    await using page = await visit.open(stamp.link)
    for (const [i, [served, fragment, reason]] of cases.entries()) {
      site.stamps.set(stamp.jti, served)
      await page.goto(`${plain}?case=${i}${fragment}`)
      const { kind, reason: found, text } = await result(page)
      assert.deepEqual([kind, found], ['bad', reason])
      // The reason is for programs; the page shows a sentence.
      assert.ok(text.includes('Refused') && !text.includes(reason), text)
      assert.ok(!text.includes(stamp.account) && !text.includes(other.account))
      assert.ok(!(await page.locator('#details').isVisible()))
    }
  })

  it('compares a chosen or dropped file, and sends nothing', async () => {
    const stamp = newStamp()
    await using page = await visit.open(stamp.link)
    await result(page)
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    const match = page.locator('#match')
    const changed = Buffer.concat([stamp.content, Buffer.from(' ')])

    await page.setInputFiles('#file', {
      name: 'a.txt',
      mimeType: 'text/plain',
      buffer: stamp.content,
    })
    await match.locator('text=Match: a.txt').waitFor()
    await page.setInputFiles('#file', { name: 'b.txt', mimeType: 'text/plain', buffer: changed })
    await match.locator('text=No match: b.txt').waitFor()
    for (const [name, bytes, text] of [
      ['c.txt', stamp.content, 'Match: c.txt'],
      ['<b>d', changed, 'No match: <b>d'],
    ] as const) {
      await dropFile(page, name, bytes)
      await page.locator('#match', { hasText: text }).waitFor()
    }
    assert.deepEqual(sent, [])
  })

  it('reports an unknown stamp, and a failed fetch', async () => {
    await using page = await visit.open(`${site.origin}/s/stm_none`)
    assert.equal((await fetch(page.url())).status, 404)
    assert.ok((await page.innerText('main')).includes('no such stamp'))

    const stamp = newStamp()
    await page.route('**/file', (route) => route.fulfill({ status: 503, body: '' }))
    await page.goto(stamp.link)
    assert.deepEqual((await result(page)).kind, 'warn')
  })

  it('makes its screenshot', onDemand, async () => {
    await using page = await visit.open(newStamp().link)
    await result(page)
    await page.setViewportSize({ width: 900, height: 800 })
    await saveScreenshot(page, 'stamp-page.png')
  })

  it('is not wider than a small phone', async () => {
    await using page = await visit.open(newStamp({ ctx: 'W'.repeat(200) }).link)
    await result(page)
    await assertFits(page)
  })
})

describe('all pages of this file', { skip }, () => {
  it('logged nothing, threw nothing and kept to their policy', () => {
    assert.deepEqual(visit.messages, [])
  })
})

/** Returns the JWS with a part of its payload’s JSON changed and the signature kept. */
function respell(jws: string, from: string, to: string): string {
  const [header, payload = '', signature] = jws.split('.')
  const json = Buffer.from(decodeBase64url(payload)).toString()
  assert.ok(json.includes(from))
  return [header, encodeBase64url(Buffer.from(json.replace(from, to))), signature].join('.')
}
