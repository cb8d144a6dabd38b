/** The pictures of the console in docs/. They are made with `UPDATE_SCREENSHOTS=1`. */
import { test } from 'node:test'
import { onDemand, saveScreenshot } from '../pages/browser.ts'
import { consoleBrowser } from './console.ts'
import { connect, twoUsers, wordsOf } from './two-people.ts'

test('the pictures of the console', onDemand, async (t) => {
  const { ann, ben } = await twoUsers(t)
  const connection = await connect(ann, ben, 'Ben')
  await ben.call('PATCH', `/api/v1/connections/${connection}`, { name: 'Ann' })
  await ben.call('POST', '/api/v1/guest-codes', { label: 'Mum', expires_in: 31_536_000 })
  await ben.call('POST', '/api/v1/guest-codes', { label: 'Plumber' })
  const club = await connect(ann, ben, 'Sailing club')
  await ben.call('PATCH', `/api/v1/connections/${club}`, { name: 'Sailing club' })
  const { user } = await ann.call('GET', '/api/v1/context')
  await ben.call('POST', '/api/v1/trust-cards', { user_id: user.id })
  await ben.call('PATCH', `/api/v1/trust-cards/${user.id}`, { name: 'Ann' })
  await ben.call('POST', `/api/v1/connections/${connection}/favorite`)
  const browser = await consoleBrowser(t)
  const size = { width: 1120, height: 760 }
  const page = await browser.open(ben.daemon.address, { at: '#/call/in', viewport: size })
  await page.locator('.words-field').waitFor()
  await page.keyboard.type(await wordsOf(ann, connection))
  await page.keyboard.press('Enter')
  await page.locator('.spoken').waitFor()
  await saveScreenshot(page, 'console-call.png')
  await page.goto(`${ben.daemon.address}/#/people`)
  await page.locator('.rows li').first().waitFor()
  await saveScreenshot(page, 'console-people.png')
})
