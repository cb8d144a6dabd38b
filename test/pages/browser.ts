/**
 * The browser of the page tests: an installed Chromium, a clock that the test controls, and a
 * check that pages log nothing and stay within their policy.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { startBrowser, noBrowser } from '../e2e/chromium.ts'
import { WAIT_LIMIT_MS } from '../limit.ts'

/** Why the tests are skipped, or false. */
export const skip = noBrowser

/** The options of a test that makes screenshots, which runs only with `UPDATE_SCREENSHOTS=1`. */
export const onDemand = { skip: process.env['UPDATE_SCREENSHOTS'] !== '1' }

/** Writes a screenshot of the whole page into docs/. */
export const saveScreenshot = (page: Page, name: string): Promise<unknown> =>
  page.screenshot({ path: join(import.meta.dirname, '../../docs', name), fullPage: true })

/** Twelve seconds into a minute, so that the minute changes only when a test moves the clock. */
export const T0 = Date.UTC(2026, 0, 1, 9, 30, 12)
export const MINUTE = 60_000

/** A host at this machine. Unlike at 127.0.0.1, its pages over plain HTTP are not secure. */
const INSECURE_HOST = 'insecure.example'
/** Returns a link to this machine that a browser opens without a secure context. */
export const insecure = (link: string): string =>
  link.replace('//127.0.0.1:', `//${INSECURE_HOST}:`)

export type Visitor = {
  /**
   * Opens a page with the device’s clock at T0, the server’s time, or ahead of it; the clock
   * stands still. With null the clock is the real one, and so is the rest of `performance`.
   */
  open: (url: string, aheadMs?: number | null) => Promise<Page>
  /** Opens a page in a browser without JavaScript. */
  openWithoutScript: (url: string) => Promise<Page>
  /**
   * Everything that any page logged, threw, or requested against its policy: empty if all is
   * well.
   */
  messages: string[]
  close: () => Promise<void>
}

/** What the browser itself logs, and is no fault of a page. */
const OF_THE_BROWSER = [
  // A page with status 404 or 410, which ours have on purpose.
  'the server responded with a status of',
  // A test types faster than a person, before the first picture of a page with `autofocus`.
  'Autofocus processing was blocked because a document already has a focused element',
]

/**
 * Starts Chromium without any network requests of its own. `languages` is the `Accept-Language` of
 * its requests. All pages with a standing clock share a
 * profile, and so do all pages with the real clock.
 */
export async function visitor(languages = 'en-US'): Promise<Visitor> {
  const browser = await startBrowser(`--host-resolver-rules=MAP ${INSECURE_HOST} 127.0.0.1`)
  const messages: string[] = []
  const options = { extraHTTPHeaders: { 'Accept-Language': languages } }
  const newContext = async () => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(WAIT_LIMIT_MS)
    await context.exposeFunction('violated', (what: string) => messages.push(what))
    await context.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
      violated(event.violatedDirective + ' ' + event.blockedURI))`)
    context.on('console', (message) => {
      if (!OF_THE_BROWSER.some((text) => message.text().includes(text)))
        messages.push(message.text())
    })
    context.on('weberror', (error) => messages.push(String(error.error())))
    return context
  }
  // A clock that a test sets is the clock of all pages of its context, also of later ones.
  const [clocked, real] = [await newContext(), await newContext()]
  return {
    messages,
    open: async (url, aheadMs = 0) => {
      const page = await (aheadMs === null ? real : clocked).newPage()
      if (aheadMs !== null) {
        // The clock runs until it is paused, and cannot be paused in its past.
        await page.clock.install({ time: T0 + aheadMs - 60_000 })
        await page.clock.pauseAt(T0 + aheadMs)
      }
      await page.goto(url)
      return page
    },
    openWithoutScript: async (url) => {
      const page = await browser.newPage({ ...options, javaScriptEnabled: false })
      await page.goto(url)
      return page
    },
    close: () => browser.close(),
  }
}

/**
 * Asserts that a page is no wider than the screen: that of a small phone, a phone, and a desktop.
 */
export async function assertFits(page: Page): Promise<void> {
  // After a navigation, a page may have its text before its style sheet.
  await page.waitForLoadState()
  for (const width of [320, 360, 1280]) {
    await page.setViewportSize({ width, height: 700 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
  }
}

/** The script of axe-core. */
export const AXE = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
/** axe-core without its pauses, which never end while the clock of a page stands still. */
const AXE_AT_ONCE = `((setTimeout) => {
  ${AXE}
})((work, ms = 0) => ms < 1000 && void Promise.resolve().then(work))`

const SCHEMES = ['light', 'dark'] as const

/**
 * Ends the transitions to other colours, one picture after their change, inside the page: the
 * colours between have no contrast to judge. An observer reports after a picture even where the
 * clock of the page stands still.
 */
const TRANSITIONS_ENDED = `new Promise((resolve) => {
  new IntersectionObserver((_, observer) => {
    observer.disconnect()
    for (const animation of document.getAnimations())
      if (animation instanceof CSSTransition) animation.finish()
    resolve()
  }).observe(document.body)
})`

/**
 * Runs axe-core at this size, and asserts that it finds no serious fault. In dark, it checks only
 * the contrast, because nothing else depends on the colours.
 */
async function assertNoFault(
  page: Page,
  at: { width: number; colorScheme: 'light' | 'dark' },
  except?: string,
): Promise<void> {
  await page.setViewportSize({ width: at.width, height: 800 })
  await page.emulateMedia({ colorScheme: at.colorScheme, reducedMotion: 'reduce' })
  await page.evaluate(TRANSITIONS_ENDED)
  // Descriptions of what is right take most of the time on a long page.
  const rules = at.colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {}
  const all = JSON.stringify({ ...rules, resultTypes: ['violations'] })
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(${JSON.stringify({ exclude: except ?? [] })}, ${all})`,
  )
  const faults = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  assert.deepEqual(faults, [], `${at.colorScheme} at ${at.width}`)
}

/**
 * Asserts that axe-core finds no serious fault, in the sizes of a phone and a desktop, in light and
 * in dark, and that the page is no wider than the screen.
 * @param except a selector of elements with faults of a library
 */
export async function assertAccessible(page: Page, except?: string): Promise<void> {
  await page.evaluate(AXE)
  for (const width of [360, 1280])
    for (const colorScheme of SCHEMES) await assertNoFault(page, { width, colorScheme }, except)
  await assertFits(page)
}

/**
 * Like `assertAccessible`, but faster, for many states of the same pages: in the size of a phone.
 */
export async function assertStateAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE_AT_ONCE)
  for (const colorScheme of SCHEMES) await assertNoFault(page, { width: 360, colorScheme })
  await assertFits(page)
}

// Code that runs inside the page is text, because the types of the tests are Node’s and not the
// browser’s.

/** Reads the key that the browser stores for a guest code, or undefined, inside the page. */
const KEPT_KEY = `async (id) => {
  const open = indexedDB.open('countersign')
  await new Promise((resolve) => open.addEventListener('success', resolve))
  const found = open.result.transaction('code-keys').objectStore('code-keys').get(id)
  await new Promise((resolve) => found.addEventListener('success', resolve))
  open.result.close()
  return found.result
}`

/** Waits until the browser stores no key for this guest code. */
export async function keepsNothing(page: Page, id: string): Promise<void> {
  await page.waitForFunction(`(${KEPT_KEY})('${id}').then((key) => key === undefined)`)
}

/**
 * Returns what a script of the page’s origin can read: all its text, and the uses of the stored
 * key.
 */
export const readable = (page: Page, id: string): Promise<{ text: string; key: object }> =>
  page.evaluate(`(async () => {
    const key = await (${KEPT_KEY})('${id}')
    const exported = await crypto.subtle.exportKey('raw', key).then(() => true, () => false)
    const text = [
      document.documentElement.outerHTML,
      document.cookie,
      JSON.stringify(localStorage),
      JSON.stringify(sessionStorage),
      JSON.stringify(history.state),
      JSON.stringify(performance.getEntries()),
      ...navigation.entries().map((entry) => entry.url),
      navigation.activation?.entry?.url,
      navigation.activation?.from?.url,
      location.href,
      document.URL,
      document.referrer,
      window.name,
    ]
    return {
      text: text.join('\\n'),
      key: { kind: key.constructor.name, extractable: key.extractable, exported },
    }
  })()`)

/** Drops a file on the page. */
export async function dropFile(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  const run = `({ name, bytes }) => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([Uint8Array.from(bytes)], name))
    const init = { bubbles: true, cancelable: true, dataTransfer }
    document.body.dispatchEvent(new DragEvent('dragover', init))
    document.body.dispatchEvent(new DragEvent('drop', init))
  }`
  await page.evaluate(`(${run})(${JSON.stringify({ name, bytes: [...bytes] })})`)
}
