/**
 * The stamp page in a real browser, against a site that serves it as the account server does.
 * `UPDATE_SCREENSHOTS=1 node --test --test-global-setup=test/setup.ts
 * test/pages/stamp-page.test.ts` makes its screenshot.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { UNSHOWABLE } from '../../src/crypto/encoding/quoted.ts'
import { logEntry, newDevice } from '../crypto/builders.ts'
import { signProfile } from '../../src/crypto/logs/profile.ts'
import { stampFragment, stampWords } from '../../src/crypto/stamp.ts'
import {
  assertAccessible,
  assertFits,
  dropFile,
  onDemand,
  saveScreenshot,
  skip,
  T0,
  visitor,
  type Visitor,
} from './browser.ts'
import { HOSTILE, HOSTILE_NAMES } from './hostile-names.ts'
import { startSite, type Site } from './site.ts'
import { stampOn } from './stamps.ts'

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
const newStamp = (of?: Parameters<typeof stampOn>[1]) => stampOn(site, of)

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

/** Chooses a file, and returns the verdict: its colour, the colour of the page, and its text. */
async function choose(page: Page, name: string, content: Uint8Array) {
  await page.setInputFiles('#file', {
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(content),
  })
  return verdict(page)
}

async function verdict(page: Page) {
  const { kind, text } = await result(page)
  assert.ok(text.length > 0)
  const whole = await page.locator('body').getAttribute('data-verdict')
  return { kind, whole, text: await page.innerText('#result') }
}

const changed = (content: Uint8Array) => Buffer.concat([content, Buffer.from(' ')])

describe('the stamp page', { skip }, () => {
  it('is not green before the file was checked, and green or red as a whole afterwards', async () => {
    const stamp = newStamp()
    await using page = await visit.open(stamp.link)
    const first = { kind: 'found', whole: 'found' }
    const { text, ...colours } = await verdict(page)
    assert.deepEqual(colours, first)
    assert.match(text, /Signature found. Now check your file/)

    const right = await choose(page, 'a.txt', stamp.content)
    assert.deepEqual([right.kind, right.whole], ['ok', 'ok'])
    assert.match(right.text, /This is the stamped file\s+a\.txt is byte for byte .* Ann Ode signed/)
    const wrong = await choose(page, 'b.txt', changed(stamp.content))
    assert.deepEqual([wrong.kind, wrong.whole], ['bad', 'bad'])
    assert.match(wrong.text, /This is not the stamped file\s+b\.txt/)
    assert.equal(await page.locator('[data-kind=ok], [data-verdict=ok]').count(), 0)
  })

  it('is not green while it reads another file, or if it cannot read it', async () => {
    const stamp = newStamp()
    await using page = await visit.open(stamp.link)
    await result(page)
    assert.equal((await choose(page, 'a.txt', stamp.content)).kind, 'ok')
    await page.evaluate(`File.prototype.arrayBuffer = () =>
      new Promise((_, reject) => { globalThis.stopReading = reject })`)
    await page.setInputFiles('#file', {
      name: 'b.txt',
      mimeType: 'text/plain',
      buffer: stamp.content,
    })
    await page.locator('#result[data-kind=wait]').waitFor()
    assert.equal(await page.locator('body').getAttribute('data-verdict'), 'wait')
    await page.evaluate('stopReading(new DOMException("gone", "NotFoundError"))')
    assert.deepEqual((await result(page)).kind, 'warn')
  })

  it('is never green for a link without a fragment', async () => {
    const stamp = newStamp()
    await using page = await visit.open(stamp.plain)
    await result(page)
    const { kind, whole, text } = await choose(page, 'a.txt', stamp.content)
    assert.deepEqual([kind, whole], ['warn', 'warn'])
    assert.match(text, /The file matches, but your link is incomplete/)
    assert.equal((await choose(page, 'b.txt', changed(stamp.content))).kind, 'bad')
  })

  it('names the signer only by a name that its keys signed', async () => {
    const [stamp, other] = [newStamp(), newStamp({ name: 'Mallory' })]
    await using page = await visit.open(stamp.link)
    await result(page)
    assert.match(await page.innerText('#summary'), /Ann Ode/)
    const unreadable = newStamp({ name: '\u202eAnn' }).file.profile
    for (const profile of [other.file.profile, unreadable, 'nothing', undefined]) {
      site.stamps.set(stamp.jti, { ...stamp.file, profile })
      await page.reload()
      await result(page)
      assert.match(await page.innerText('#summary'), /No signed name/)
      assert.ok(!(await page.innerText('main')).includes('Mallory'))
    }
    assert.match(
      (await choose(page, 'a.txt', stamp.content)).text,
      /that an account without a signed name signed/,
    )
  })

  it('does not give a stamp from before a reset the name that was signed after it', async () => {
    const stamp = newStamp()
    const next = newDevice()
    const { key_log: log } = stamp.file
    const reset = logEntry(stamp.account, log, 'reset', next, next, { at: T0 / 1000 })
    const { kid, id: device } = next
    const of = { account: stamp.account, device, n: 2, name: 'Mallory' }
    const profile = signProfile({ ...of, kid, seed: next.keys.sign.secret })
    site.stamps.set(stamp.jti, { ...stamp.file, key_log: [...log, reset], profile })
    await using page = await visit.open(stamp.link)
    assert.equal((await result(page)).kind, 'found')
    const text = await page.innerText('main')
    assert.match(text, /No signed name/)
    assert.match(text, /were replaced at least once/)
    assert.ok(!text.includes('Mallory'))
  })

  it('without JavaScript: names what it needs, and shows no verdict', async () => {
    await using page = await visit.openWithoutScript(newStamp().link)
    assert.ok(await page.locator('#needs-script').isVisible())
    assert.match(await page.innerText('main'), /Nothing was checked/)
    for (const part of ['#result', '#compare', '#about'])
      assert.ok(!(await page.locator(part).isVisible()), part)
  })

  it('shows the content of a valid stamp, with claim and receipt separate', async () => {
    const stamp = newStamp({ ctx: HOSTILE, name: '<b>Ann' })
    await using page = await visit.open(stamp.link)
    await result(page)
    assert.ok(!(await page.locator('#facts').isVisible()))
    await page.click('#about summary')
    const { kind, text } = await result(page)
    assert.equal(kind, 'found')
    for (const part of [
      '<b>Ann',
      'The account chose this name itself, and signed it.',
      stamp.account,
      stamp.device,
      stamp.kid,
      stamp.hex,
      stampWords(stamp.jws).join(' '),
      'never evidence',
      '1 January 2026 at 09:30:12 UTC',
      '1 January 2026 at 09:30:16 UTC',
      'had confirmed an e-mail address',
      'According to the receipt of this server',
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
    assert.equal(kind, 'found')
    assert.ok(
      text.includes('No receipt yet') &&
        text.includes('Only a receipt of the server could prove more.'),
    )
    assert.ok(text.includes('Nothing confirms who uses it'))
  })

  it('rejects a stamp that claims more than a device, with any receipt', async () => {
    for (const receipt of [true, false]) {
      await using page = await visit.open(newStamp({ claim: 'organisation', receipt }).link)
      const { kind, reason, text } = await result(page)
      assert.deepEqual([kind, reason], ['bad', 'assurance_claimed'])
      assert.ok(!text.includes('organisation'), text)
    }
  })

  it('warns that a link without a fragment only shows the server’s data', async () => {
    await using page = await visit.open(newStamp().plain)
    const { kind, text } = await result(page)
    assert.equal(kind, 'warn')
    assert.ok(text.includes('cannot check that the link was made for this stamp'))
  })

  it('calls a link incomplete if its end is missing', async () => {
    const { link } = newStamp()
    await using page = await visit.open(link.slice(0, -3))
    const { kind, text } = await result(page)
    assert.equal(kind, 'warn')
    assert.ok(text.includes('Your link is incomplete'), text)
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
      assert.ok(text.includes('Do not rely on this stamp') && !text.includes(reason), text)
      assert.ok(!text.includes(stamp.account) && !text.includes(other.account))
      for (const part of ['#about', '#compare']) assert.ok(!(await page.locator(part).isVisible()))
    }
  })

  it('compares a chosen or dropped file, and sends nothing', async () => {
    const stamp = newStamp()
    await using page = await visit.open(stamp.link)
    await result(page)
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    for (const [name, bytes, title] of [
      ['c.txt', stamp.content, 'This is the stamped file'],
      ['<b>d', changed(stamp.content), 'This is not the stamped file'],
    ] as const) {
      await choose(page, name, bytes)
      await page.locator('#result', { hasText: title }).waitFor()
      await dropFile(page, name, bytes)
      await page.locator('#result', { hasText: title }).waitFor()
      assert.equal(await page.locator('#result bdi').first().textContent(), name)
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

  it('has no serious fault in any state, light and dark', async () => {
    const stamp = newStamp()
    await using page = await visit.open(stamp.link, null)
    await result(page)
    await assertAccessible(page)
    for (const [content, kind] of [
      [stamp.content, 'ok'],
      [changed(stamp.content), 'bad'],
    ] as const) {
      assert.equal((await choose(page, 'a.txt', content)).kind, kind)
      await assertAccessible(page)
    }
    for (const url of [stamp.plain, `${stamp.plain}?other#AAAA`]) {
      await page.goto(url)
      await result(page)
      await assertAccessible(page)
    }
  })

  it('makes its screenshot', onDemand, async () => {
    const stamp = newStamp({ name: 'Alice' })
    await using page = await visit.open(stamp.link)
    await result(page)
    await page.setViewportSize({ width: 720, height: 800 })
    await choose(page, 'contract.pdf', stamp.content)
    await saveScreenshot(page, 'stamp-page.png')
  })

  it('is not wider than a small phone, with hostile texts', async () => {
    const stamp = newStamp({ ctx: 'W'.repeat(200), name: 'W'.repeat(64) })
    await using page = await visit.open(stamp.link)
    await result(page)
    await page.click('#about summary')
    await assertFits(page)
    for (const name of Object.values(HOSTILE_NAMES)) {
      await dropFile(page, name, stamp.content)
      await page.locator('#result[data-kind=ok]').waitFor()
      const shown = (await page.locator('#result bdi').first().textContent()) ?? ''
      assert.ok(shown.length <= 200 && !new RegExp(`[${UNSHOWABLE}]`, 'u').test(shown))
      await assertFits(page)
    }
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
