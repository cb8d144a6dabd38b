/**
 * Every public page in Chromium as its server sends it: axe-core finds no serious fault, in the
 * sizes of a phone and a desktop, in light and in dark; and each page works with the keyboard
 * alone.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Json } from '../e2e/caller.ts'
import { startNeighbours } from '../e2e/neighbours.ts'
import { confirmationIn } from '../service/letters.ts'
import { type Visitor, assertAccessible, skip, visitor } from './browser.ts'

/** Presses Tab until the focused element matches; fails if none does. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
  }
  assert.fail(`the keyboard does not reach ${selector}`)
}

describe('the public pages', { skip }, () => {
  const afters: (() => unknown)[] = []
  let browser: Visitor
  let german: Visitor
  let urls: Readonly<Record<string, string>>
  let mailDir: string

  before(async () => {
    const t = { after: (fn: unknown) => void afters.push(fn as () => unknown) }
    const { server, mailDir: mail, people } = await startNeighbours(t, ['ada'])
    mailDir = mail
    const { good } = people[0]!
    const guest: Json = await good('POST', '/api/v1/guest-codes', { label: 'Plumber' })
    const ended: Json = await good('POST', '/api/v1/guest-codes', { label: 'Painter' })
    await good('DELETE', `/api/v1/guest-codes/${ended.id}`)
    const stamp: Json = await good('POST', '/api/v1/stamp', { content: 'I will be there at nine.' })
    const link: Json = await good('POST', '/api/v1/open-links', { title: 'Talk to the workshop' })
    const paused: Json = await good('POST', '/api/v1/open-links', { title: 'On holiday' })
    await good('PATCH', `/api/v1/open-links/${paused.id}/pause`)
    const { address } = server
    urls = {
      'a guest code': guest.url,
      'a guest code that ended': ended.url,
      'a stamp': stamp.verification_url,
      'an unknown stamp': `${address}/s/stm_00000000000000000000000000`,
      'an open link': link.url,
      'an open link that is paused': paused.url,
      'an unknown open link': `${address}/o/nobody-at-all`,
      'a confirmation that ended': `${address}/confirm/${'A'.repeat(43)}`,
    }
    ;[browser, german] = await Promise.all([visitor(), visitor('de')])
    afters.push(() => Promise.all([browser.close(), german.close()]))
  })
  after(async () => {
    for (const fn of afters.toReversed()) await fn()
  })

  for (const name of [
    'a guest code',
    'a guest code that ended',
    'a stamp',
    'an unknown stamp',
    'an open link',
    'an open link that is paused',
    'an unknown open link',
    'a confirmation that ended',
  ])
    test(`${name}: no serious problem in English and German, and nothing against the policy`, async () => {
      const page = await browser.open(urls[name]!, null)
      if (name === 'a guest code') await page.waitForSelector('#who')
      if (name === 'a stamp') await page.waitForSelector('#compare')
      await assertAccessible(page)
      assert.deepEqual(browser.messages, [])
      await page.close()
      const translated = await german.open(urls[name]!, null)
      if (name === 'a guest code') await translated.waitForSelector('#who')
      if (name === 'a stamp') await translated.waitForSelector('#compare')
      await assertAccessible(translated)
      assert.equal(await translated.getAttribute('html', 'lang'), 'de')
      assert.deepEqual(german.messages, [])
      await translated.close()
    })

  test('an open link can be requested and confirmed by keyboard', async () => {
    const page = await browser.open(urls['an open link']!, null)
    await tabTo(page, '[name=display_name]')
    await page.keyboard.type('Bob')
    await page.keyboard.press('Tab')
    await page.keyboard.type('bob at example')
    await tabTo(page, 'textarea')
    await page.keyboard.type('We met at the fair.')
    await tabTo(page, 'button')
    await page.keyboard.press('Enter')
    // A browser that validates the field itself keeps the form; with `noValidate` the server
    // reports the fault.
    await page.evaluate('document.querySelector("form").noValidate = true')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await assertAccessible(page)
    const wrong = page.locator('[aria-invalid=true]')
    assert.equal(await wrong.getAttribute('name'), 'email')
    assert.equal(
      await page.evaluate('document.activeElement.name'),
      'email',
      'one may go on typing',
    )
    assert.equal(await page.inputValue('[name=display_name]'), 'Bob', 'nothing is typed twice')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('bob@example.org')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await assertAccessible(page)
    await page.goto(await confirmationIn(mailDir, 'bob@example.org'))
    await assertAccessible(page)
    await tabTo(page, 'button')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await assertAccessible(page)
    assert.deepEqual(browser.messages, [])
    await page.close()
  })

  for (const mode of ['called', 'calling'])
    test(`${mode}: the words of a caller can be checked by keyboard`, async () => {
      const page = await browser.open(urls['a guest code']!, null)
      await page.waitForSelector('#who')
      await tabTo(page, `#${mode}`)
      await page.keyboard.press('Enter')
      await page.waitForSelector('#check')
      await assertAccessible(page)
      if (mode === 'calling') await tabTo(page, '#heard')
      await page.keyboard.type('apple apple apple')
      await page.keyboard.press('Enter')
      await page.waitForSelector('#verdict:not(:empty), #suggestions:not(:empty)')
      await assertAccessible(page)
      await tabTo(page, '#again')
      await page.keyboard.press('Enter')
      await page.waitForSelector('#who')
      assert.deepEqual(browser.messages, [])
      await page.close()
    })

  test('a file is compared with a stamp, with the name of the signer', async () => {
    const page = await browser.open(urls['a stamp']!, null)
    await page.waitForSelector('#compare')
    await tabTo(page, '#file')
    for (const [content, kind] of [
      ['I will be there at nine.', 'ok'],
      ['I will be there at ten.', 'bad'],
    ] as const) {
      const buffer = Buffer.from(content)
      await page.setInputFiles('#file', { name: 'note.txt', mimeType: 'text/plain', buffer })
      await page.waitForSelector(`#result[data-kind=${kind}]`)
      await assertAccessible(page)
    }
    await page.click('#about summary')
    await assertAccessible(page)
    assert.match(await page.innerText('#summary'), /The account chose this name itself/)
    assert.deepEqual(browser.messages, [])
    await page.close()
  })
})
