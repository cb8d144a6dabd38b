/**
 * Every page of the console, with HTML in every text that an account stores: it stays text, the
 * policy is kept, nothing is wider than the window, and axe-core finds nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { HTML, POSTS } from '../attack/populated.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation } from '../handlers/people.ts'
import { skip } from '../pages/browser.ts'
import { assertFaultless, consoleBrowser } from './console.ts'

/** The pages of the navigation. */
const PAGES = [
  'call',
  'people',
  'needs',
  'devices',
  'stamps',
  'log',
  'tokens',
  'organisation',
  'health',
  'settings',
]

/** Stores HTML in every text of an account. */
async function populate(daemon: TestDaemon): Promise<void> {
  const token = await daemon.token('full')
  const send = async (method: string, path: string, body: object) => {
    const { status, text } = await daemon.request(method, path, { token, body })
    assert(status < 300, `${method} ${path}: ${status} ${text}`)
  }
  await activeOrganisation(daemon, HTML)
  for (const [path, body] of POSTS) await send('POST', path, body)
  await send('PATCH', '/api/v1/profile', { display_name: HTML, headline: HTML })
  await send('POST', '/api/v1/api-tokens', { name: HTML, label: HTML, scope: 'read' })
  await send('POST', '/api/v1/webhooks', {
    url: 'https://example.org/?<b>',
    types: ['connection.*'],
    name: HTML,
  })
}

/** Returns the kind of place that an address names: ids of one kind are one kind. */
const kindOf = (hash: string): string => hash.replaceAll(/_[0-9a-z]{26}/g, '_…')

/** Waits until a page shows its data. */
async function settled(page: Page): Promise<void> {
  await page.locator('main h1').waitFor()
  const loading = page.locator('main [role=status]', { hasText: /^(Loading|Wird geladen)/ })
  await loading.first().waitFor({ state: 'detached' })
}

/** The addresses of places in the console that the page links to. */
const linksOf = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('main a[href^="#/"]')].map((it) => it.getAttribute('href'))`,
  )

for (const locale of ['en-GB', 'de-DE'])
  test(`every page of the console, ${locale}`, { skip }, async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    await populate(daemon)
    const browser = await consoleBrowser(t)
    const page = await browser.open(daemon.address, { scope: 'full', locale })
    const waiting = [...PAGES.map((name) => `#/${name}`), '#/call/in', '#/call/out']
    const seen = new Set(waiting.map(kindOf))
    let shown = ''
    for (const hash of waiting)
      await t.test(kindOf(hash), async () => {
        await page.goto(`${daemon.address}/${hash}`)
        await settled(page)
        await assertFaultless(page)
        shown += await page.locator('body').innerText()
        assert.equal(await page.locator('img[src=x]').count(), 0)
        for (const link of await linksOf(page)) {
          if (seen.has(kindOf(link))) continue
          seen.add(kindOf(link))
          waiting.push(link)
        }
      })
    assert(shown.includes(HTML), 'no page shows the texts of the account')
    await page.context().close()
  })
