/** Answers with values of a dishonest account server: what the console shows of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { skip } from '../pages/browser.ts'
import { consoleBrowser } from './console.ts'

/** Replaces the answers of a route. */
const answers = (page: Page, path: string, body: object) =>
  page.route(`**${path}`, (route) => route.fulfill({ json: body }))

const MATCH = {
  kind: 'connection',
  speaker: 'other',
  conclusive: true,
  connection_id: `con_${'0'.repeat(26)}`,
  connection_name: 'Ann',
  member_id: `acc_${'0'.repeat(26)}`,
  display_name: 'Ann',
  name_source: 'self',
  name_marks: ['equal'],
  window: 1,
}
const VERIFIED = {
  verified: true,
  conclusive: true,
  replayed: false,
  echo: false,
  ambiguous: false,
  reasons: [],
  matches: [MATCH],
  checked_at: '2026-01-01T00:00:00.000Z',
}

test('values of a dishonest account server', { skip }, async (t) => {
  const daemon: TestDaemon = await startDaemon()
  t.after(() => daemon.close())
  const browser = await consoleBrowser(t)
  const page = await browser.open(daemon.address, { at: '#/call/in' })

  await t.test(
    'a connection that has the claimed name of its member does not hide that it is a claim',
    async () => {
      await answers(page, '/api/v1/verify', VERIFIED)
      await page.locator('.words-field input').first().waitFor()
      await page.keyboard.type('matador carload recede')
      await page.keyboard.press('Enter')
      await page.locator('.verdict[data-kind=ok]').waitFor()
      const [title] = (await page.locator('.verdict').innerText()).split('\n')
      assert.match(
        title!,
        /^It is Ann \(someone who calls themselves Ann\s*another contact has this name\)\.$/,
      )
    },
  )

  await t.test(
    'an address that is not percent-encoded text is a page that is missing',
    async () => {
      await page.goto(`${daemon.address}/#/%E0`)
      await page.locator('h1', { hasText: 'There is no such page' }).waitFor()
      await page.goto(`${daemon.address}/#/settings`)
      await page.locator('h1', { hasText: 'Settings' }).waitFor()
    },
  )

  await t.test(
    'a page that cannot show a value is replaced by a message, and others work',
    async () => {
      const notification = {
        id: `ntf_${'0'.repeat(26)}`,
        kind: 'x',
        title: 'title',
        body: 'body',
        data: { connection_id: '\ud800' },
        read: false,
        created_at: '2026-01-01T00:00:00+02',
      }
      await answers(page, '/api/v1/notifications?*', { items: [notification], next_cursor: null })
      await page.goto(`${daemon.address}/#/needs`)
      await page.reload()
      await page.locator('[role=alert]', { hasText: 'could not be shown' }).waitFor()
      assert.match(String((browser.messages as string[]).splice(0)), /RangeError/)
      await page.locator('nav a', { hasText: 'Settings' }).click()
      await page.locator('h1', { hasText: 'Settings' }).waitFor()
    },
  )
})
