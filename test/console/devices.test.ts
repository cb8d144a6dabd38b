/** The devices of an account in the console: a new one is approved by the words of both screens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { SignIn } from '../../src/api/local/index.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, signIn } from '../handlers/people.ts'
import { skip } from '../pages/browser.ts'
import { until } from '../until.ts'
import { assertFaultless, consoleBrowser, focused, tabTo } from './console.ts'
import { newUser } from './two-people.ts'

const row = (page: Page, text: string) => page.locator('.device', { hasText: text })

/** Runs a step of the approval on the new device, as its command line does. */
const there = (laptop: TestDaemon, step: string, body?: unknown) =>
  asOwner<SignIn>(laptop, 'POST', `/local/v1/sign-in/approval${step}`, body)

test('devices in the console', { skip }, async (t) => {
  const server = await startDaemon()
  t.after(() => server.close())
  const ann = await newUser(t, server, 'Ann')
  const { address } = ann.daemon
  const newDevice = async () => {
    const daemon = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
    t.after(() => daemon.close())
    const { device_id: id } = await signIn(daemon, server, ann.email)
    return { daemon, id: id ?? '' }
  }
  const browser = await consoleBrowser(t)
  const page = await browser.open(address, { at: '#/devices', scope: 'full' })

  await t.test('the own device is first, and the way to another one has its commands', async () => {
    await row(page, 'This device').getByText('Signed in').waitFor()
    // The address of the account is read after the page is shown.
    await page.locator('.steps code', { hasText: ann.email }).waitFor()
    const commands = await page.locator('.steps code').allTextContents()
    assert.deepEqual(commands, [
      `export SVC_BACKEND_URL=${server.accountAddress}`,
      `countersignd login --email ${ann.email}`,
    ])
  })

  const laptop = await newDevice()

  await t.test(
    'a device that waits appears at once, and words that are wrong approve nothing',
    async () => {
      await row(page, 'Waits for approval').waitFor()
      await row(page, 'Waits for approval').getByRole('link').focus()
      await page.keyboard.press('Enter')
      await page.getByText('Never type words that another person dictates to you.').waitFor()
      await there(laptop.daemon, '/attempt')
      await tabTo(page, 'Begin')
      await page.keyboard.press('Enter')
      const { device_words } = await until('the words of the new device', async () => {
        const seen = await there(laptop.daemon, '/step')
        return seen.device_words === null ? null : seen
      })
      await page.locator('.words-field').waitFor()
      assert.equal(await focused(page), 'Word 1 of 4')
      await page.keyboard.type('matador carload recede matador')
      await page.keyboard.press('Enter')
      await page.getByText('These are not the words that the new device shows now.').waitFor()
      assert.equal(await focused(page), 'Word 1 of 4')
      assert.equal(
        (await ann.call('GET', `/api/v1/devices/${laptop.id}/approval`)).state,
        'pending',
      )
      await page.keyboard.type(device_words ?? '')
      await page.keyboard.press('Enter')
      await page.locator('.spoken').waitFor()
      await page.locator('h2:focus', { hasText: 'Now type these four words on' }).waitFor()
    },
  )

  await t.test(
    'the words of this device are typed there, and the page shows when it is ready',
    async () => {
      const words = await page.locator('.spoken strong').allTextContents()
      const body = { words: words.map((word) => word.trim()).join(' ') }
      assert.equal((await there(laptop.daemon, '', body)).state, 'signed_in')
      await page.getByText(/is ready\. Its words can be used/).waitFor()
      assert.equal(await page.locator('.spoken').count(), 0)
      assert.equal((await ann.call('GET', `/api/v1/devices/${laptop.id}/approval`)).state, 'active')
    },
  )

  await t.test('a session is ended, and a device is revoked, each after a question', async () => {
    await tabTo(page, 'All devices')
    await page.keyboard.press('Enter')
    const other = page.locator('.device').nth(1)
    for (const [button, confirm, result] of [
      ['End the session', 'End the session', 'You ended the session of'],
      ['Revoke', 'Revoke the device', 'You revoked'],
    ] as const) {
      await other.getByRole('button', { name: button }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await tabTo(page, confirm)
      await page.keyboard.press('Enter')
      await page.locator('.action-result:focus', { hasText: result }).waitFor()
    }
    await other.waitFor({ state: 'detached' })
    const { items } = await ann.call('GET', '/api/v1/devices')
    assert.equal(items.length, 1)
  })

  await t.test(
    'without full rights, the page shows the command; axe-core finds nothing',
    async () => {
      const waiting = await newDevice()
      const check = async (locale: string) => {
        const shown = await browser.open(address, { locale, at: '#/devices' })
        await shown.locator('.device').nth(1).waitFor()
        await assertFaultless(shown)
        await shown.goto(`${address}/#/devices/approve/${waiting.id}`)
        await shown.locator('code', { hasText: 'countersignd open --full' }).waitFor()
        assert.equal(
          await shown.getByRole('button', { name: /^(Begin|Beginnen)$/ }).isDisabled(),
          true,
        )
        await assertFaultless(shown)
        await shown.context().close()
      }
      await Promise.all(['en-GB', 'de-DE'].map(check))
      await page.goto(`${address}/#/devices`)
      await row(page, 'Waits for approval').getByRole('button', { name: 'Decline' }).focus()
      await page.keyboard.press('Enter')
      await tabTo(page, 'Decline the device')
      await page.keyboard.press('Enter')
      await page.locator('.action-result', { hasText: 'You declined' }).waitFor()
      assert.equal((await ann.call('GET', '/api/v1/devices')).items.length, 1)
    },
  )
})
