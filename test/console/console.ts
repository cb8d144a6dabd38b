/** The console in a real browser: opens it with a code, and collects what the page reports. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AxeResults } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { ConsoleCode } from '../../src/api/console/index.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import { consoleUrl } from '../../src/cli/console/page.ts'
import { startBrowser } from '../e2e/chromium.ts'
import { WAIT_LIMIT_MS } from '../limit.ts'
import { AXE } from '../pages/browser.ts'

/** A browser for the tests of a file. */
export interface ConsoleBrowser {
  /**
   * Opens the console of a daemon in a profile of its own, and waits until its first page is shown.
   * @param of `at`: the fragment to go to, such as `#/people`
   */
  open(address: string, of?: OpenOptions): Promise<Page>
  /** What pages logged or threw, or requested against their policy: empty if all is well. */
  readonly messages: readonly string[]
}

interface OpenOptions extends BrowserContextOptions {
  readonly scope?: Scope
  readonly at?: string
}

/** Returns the link to a console of this scope, as the command line makes it. */
export async function consoleLink(address: string, scope: Scope = 'write'): Promise<string> {
  const answer = await fetch(`${address}/console/v1/codes`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ scope }),
  })
  assert.equal(answer.status, 201)
  return consoleUrl((await answer.json()) as ConsoleCode)
}

/** Starts a browser, which ends with the test. The test fails if a page reported anything. */
export async function consoleBrowser(t: TestContext): Promise<ConsoleBrowser> {
  const browser = await startBrowser()
  const messages: string[] = []
  t.after(async () => {
    await browser.close()
    assert.deepEqual(messages, [])
  })
  return {
    messages,
    async open(address, { scope, at, ...options } = {}) {
      const context = await browser.newContext({
        locale: 'en-GB',
        permissions: ['clipboard-read', 'clipboard-write'],
        ...options,
      })
      context.setDefaultTimeout(WAIT_LIMIT_MS)
      await context.exposeFunction('violated', (what: string) => messages.push(what))
      await context.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
        violated(event.violatedDirective + ' ' + event.blockedURI))`)
      context.on('console', (message) => {
        // The browser itself logs failed requests, which the tests cause on purpose, and the
        // deletion of its cache.
        if (!/^(?:Failed to load resource|Clear-Site-Data header)/.test(message.text()))
          messages.push(message.text())
      })
      context.on('weberror', (error) => messages.push(String(error.error())))
      const page = await context.newPage()
      await page.goto(await consoleLink(address, scope))
      // The first page has moved the focus, so that it takes no key from the test.
      await page.locator('.choices button:focus').waitFor()
      if (at !== undefined) await page.goto(`${address}/${at}`)
      return page
    },
  }
}

/** Returns the text of the control with the focus, or its label; empty for other elements. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `((it) => it.matches('a, button, input, select, textarea, summary')
      ? it.getAttribute('aria-label') ?? it.textContent : '')(document.activeElement)`,
  )

/** Presses Tab until an element with this text or label has the focus. */
export async function tabTo(page: Page, name: RegExp | string): Promise<void> {
  const isHere = (text: string) =>
    typeof name === 'string' ? text.trim() === name : name.test(text.trim())
  for (let pressed = 0; pressed < 80; pressed++) {
    if (isHere(await focused(page))) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`no ${name} by Tab; the focus is at ${await focused(page)}`)
}

/**
 * Asserts that axe-core finds no fault of any kind, light and dark, and that the page is no wider
 * than the window at 360, 1280 and 1600 pixels.
 */
export async function assertFaultless(page: Page): Promise<void> {
  // The policy of the page allows no evaluation, but that of the debugging interface does.
  await page.evaluate(AXE)
  for (const width of [360, 1280, 1600]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
  }
  await page.setViewportSize({ width: 360, height: 800 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // In dark, only the contrast can differ.
    const rules = colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {}
    const { violations } = await page.evaluate<AxeResults>(
      `axe.run(document, ${JSON.stringify({ ...rules, resultTypes: ['violations'] })})`,
    )
    const faults = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    )
    assert.deepEqual(faults, [], colorScheme)
  }
}
