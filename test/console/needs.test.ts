/** What needs the user: it appears without a reload, is decided by keyboard, and disappears. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { SignIn } from '../../src/api/local/index.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { ask, startDaemon } from '../daemon.ts'
import { asOwner, signIn } from '../handlers/people.ts'
import { skip } from '../pages/browser.ts'
import { HOSTILE } from '../pages/hostile-names.ts'
import { openServiceDatabase } from '../service/database.ts'
import { confirmationIn } from '../service/letters.ts'
import { until } from '../until.ts'
import { assertFaultless, consoleBrowser, focused, tabTo } from './console.ts'
import { type ConsoleUser, twoUsers } from './two-people.ts'

const PLACE = '#/needs'
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const card = (page: Page, title: string) => page.locator('.need', { hasText: title })
const outcome = (page: Page) => page.locator('.action-result')
const focus = (page: Page) => page.locator(':focus')

/** Presses a button of a card by keyboard, and the one of the dialog that it opens. */
async function press(page: Page, title: string, button: string, confirm?: string): Promise<void> {
  await card(page, title).getByRole('button', { name: button, exact: true }).focus()
  await page.keyboard.press('Enter')
  if (confirm === undefined) return
  await page.getByRole('dialog').waitFor()
  await tabTo(page, confirm)
  await page.keyboard.press('Enter')
}

/** Invites Ann to a new connection of Ben. */
const invite = (ben: ConsoleUser, ann: ConsoleUser, name: string, more: object = {}) =>
  ben.call('POST', '/api/v1/connections', { name, invite: [{ email: ann.email }], ...more })

const stateOf = async (user: ConsoleUser, connection: string): Promise<string | undefined> => {
  const { received } = await user.call('GET', '/api/v1/invitations')
  return received.find((one: { connection_id: string }) => one.connection_id === connection)?.state
}

/** Replaces the notifications of the desktop, and the visibility of the page, by the test's own. */
const DESKTOP = `
  window.shown = []
  window.Notification = class {
    static permission = 'default'
    static requestPermission = async () => (this.permission = 'granted')
    constructor(title, { tag, body }) { window.shown.push({ title, tag, body }) }
  }
  window.isAway = false
  Object.defineProperty(document, 'hidden', { get: () => window.isAway })`

test('what needs the user, in the console', { skip }, async (t) => {
  const { server, databaseUrl, ann, ben } = await twoUsers(t)
  const { address } = ann.daemon
  const browser = await consoleBrowser(t)
  const accountOf = async ({ daemon }: ConsoleUser) =>
    (await asOwner<SignIn>(daemon, 'GET', '/local/v1/sign-in')).account_id ?? ''
  const [annId, benId] = [await accountOf(ann), await accountOf(ben)]
  const page = await browser.open(address, { at: PLACE })

  await t.test('an invitation appears at once, with its name as text', async () => {
    await page.getByRole('heading', { name: 'Nothing needs you' }).waitFor()
    assert.equal(await page.title(), 'Needs you – Countersign')
    const { id } = await invite(ben, ann, HOSTILE)
    await card(page, HOSTILE).waitFor()
    assert.match(
      await card(page, HOSTILE).innerText(),
      /From: someone who calls themselves Ben, ben@example.org/,
    )
    assert.equal(await page.locator('main img').count(), 0)
    assert.equal(await page.title(), '(1) Needs you – Countersign')
    assert.equal(await page.locator('nav li .count').innerText(), '1')
    await press(page, HOSTILE, 'Approve')
    await outcome(page)
      .and(focus(page))
      .getByText(/^You approved/)
      .waitFor()
    await page.getByRole('heading', { name: 'Nothing needs you' }).waitFor()
    assert.equal(await page.title(), 'Needs you – Countersign')
    assert.equal(await stateOf(ann, id), 'approved')
  })

  await t.test(
    'an invitation is declined after a question, and not if it is cancelled',
    async () => {
      const { id } = await invite(ben, ann, 'Choir')
      await card(page, 'Choir').waitFor()
      await press(page, 'Choir', 'Decline')
      // Enter twice declines nothing.
      await page.getByRole('button', { name: 'Cancel' }).and(focus(page)).press('Enter')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Decline' }).and(focus(page)).waitFor()
      assert.equal(await stateOf(ann, id), 'pending')
      await press(page, 'Choir', 'Decline', 'Decline the invitation')
      await outcome(page)
        .and(focus(page))
        .getByText('You declined the invitation to Choir.')
        .waitFor()
      assert.equal(await stateOf(ann, id), 'declined')
    },
  )

  await t.test('the four words of the inviter confirm the keys', async () => {
    const { words } = await invite(ben, ann, 'Garden', { words: true })
    await card(page, 'Garden').waitFor()
    await card(page, 'Garden').locator('summary').press('Enter')
    await tabTo(page, 'Word 1 of 4')
    await page.keyboard.type('matador carload recede matador')
    await page.keyboard.press('Enter')
    await card(page, 'Garden')
      .getByText('These are not the words of the inviter’s device.')
      .waitFor()
    const again = await ben.call('POST', `/api/v1/invitations/${words[0].invitation_id}/words`)
    assert.equal(await focused(page), 'Word 1 of 4')
    await page.keyboard.type(again.words)
    await page.keyboard.press('Enter')
    await card(page, 'Garden').waitFor({ state: 'detached' })
    const { items } = await ann.call('GET', '/api/v1/trust-cards')
    assert.equal(items[0].key_status, 'confirmed')
  })

  await t.test('a request at an open link is approved or declined', async () => {
    const link = await ann.call('POST', '/api/v1/open-links', { title: 'The desk' })
    const mail = join(server.stateDir, 'mail')
    for (const name of ['Cleo', 'Dan']) {
      const email = `${name.toLowerCase()}@example.com`
      const body = String(new URLSearchParams({ display_name: name, email, message: 'Hello!' }))
      await ask(server.accountAddress, 'POST', `/o/${link.slug}`, { body, headers: FORM })
      const { origin, pathname } = new URL(await confirmationIn(mail, email))
      await ask(origin, 'POST', pathname, { body: '', headers: FORM })
    }
    await card(page, 'Request: Cleo').getByText('At your open link The desk').waitFor()
    await press(page, 'Request: Cleo', 'Approve')
    await outcome(page)
      .getByText(/cleo@example.com gets an invitation/)
      .waitFor()
    await press(page, 'Request: Dan', 'Decline', 'Decline the request')
    await outcome(page)
      .getByText(/declined the request of dan@example.com/)
      .waitFor()
    const { items } = await ann.call('GET', '/api/v1/open-links/requests')
    const states = items.map((one: { state: string }) => one.state)
    assert.deepEqual(states.toSorted(), ['approved', 'declined'])
  })

  await t.test('a device that waits is declined, or leads to its approval', async (inner) => {
    const laptop = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
    inner.after(() => laptop.close())
    const { device_id } = await signIn(laptop, server, ann.email)
    const found = card(page, 'New device')
    await found.waitFor()
    const href = await found.getByRole('link', { name: 'Approve …' }).getAttribute('href')
    assert.equal(href, `#/devices/approve/${device_id}`)
    await press(page, 'New device', 'Decline', 'Decline the device')
    await outcome(page)
      .getByText(/^You declined the device/)
      .waitFor()
    await found.waitFor({ state: 'detached' })
    const { items } = await ann.call('GET', '/api/v1/devices')
    assert.equal(items.length, 1)
  })

  await t.test('a guest code that ends: a new link, or nothing', async () => {
    const made = await ann.call('POST', '/api/v1/guest-codes', { label: 'Mum', expires_in: 7200 })
    // The account server looks for ending codes once an hour.
    const { db, close } = await openServiceDatabase({ url: databaseUrl, file: '' })
    await db
      .insertInto('notifications')
      .values({
        id: newId('ntf_', Date.now()),
        account_id: annId,
        kind: 'guest_code_ending',
        title: 'A guest code is about to end',
        body: 'The guest code "Mum" ends soon.',
        data: JSON.stringify({ guest_code_id: made.id }),
        read_at: null,
        created_at: Date.now(),
      })
      .execute()
    await close()
    await page.reload()
    await card(page, 'Guest code: Mum').waitFor()
    await press(page, 'Guest code: Mum', 'Create a new link')
    const link = card(page, 'Guest code: Mum').locator('bdi', { hasText: '/g/' })
    await link.waitFor()
    const { items } = await ann.call('GET', '/api/v1/guest-codes')
    assert.equal(items.length, 2)
    assert(!JSON.stringify(items).includes(await link.innerText()), 'the link is shown once')
    await press(page, 'Guest code: Mum', 'Done')
    await outcome(page).getByText('The guest code of Mum ends by itself.').waitFor()
    const unread = await ann.call('GET', '/api/v1/notifications?unread=true')
    assert.deepEqual(unread.items, [])
  })

  await t.test('notifications are marked as read, and the focus goes to the next one', async () => {
    for (const name of ['One', 'Two', 'Three']) {
      const { id } = await ann.call('POST', '/api/v1/connections', {
        name,
        invite: [{ user_id: benId }],
      })
      await until('the invitation', async () => (await stateOf(ben, id)) === 'pending')
      const { received } = await ben.call('GET', '/api/v1/invitations/pending')
      await ben.call('POST', `/api/v1/invitations/${received[0].id}/approve`)
    }
    const rows = page.locator('.notification')
    await rows.nth(2).waitFor()
    assert.equal(await page.title(), 'Needs you – Countersign')
    assert.match(await rows.first().innerText(), /^Your invitation was approved\s+"Ben" approved/)
    await rows.first().getByRole('button').press('Enter')
    await rows.nth(2).waitFor({ state: 'detached' })
    await rows.locator('h3').and(focus(page)).waitFor()
    const unread = async () => (await ann.call('GET', '/api/v1/notifications?unread=true')).items
    assert.equal((await unread()).length, 2)
    await page.getByRole('button', { name: 'Mark all as read' }).press('Enter')
    await outcome(page).getByText('2 notifications are marked as read.').waitFor()
    assert.deepEqual(await unread(), [])
  })

  await t.test('notices, two histories and a failed sync; axe-core finds nothing', async () => {
    await invite(ben, ann, 'Boat')
    const { id } = (await ann.call('GET', '/api/v1/connections')).items[0]
    const check = async (locale: string) => {
      const shown = await browser.open(address, { locale })
      await shown.route('**/api/v1/status', async (route) => {
        const answer = await route.fetch()
        // The first proof has no nonce of the daemon.
        if (!answer.ok()) return route.fulfill({ response: answer })
        const json = (await answer.json()) as object
        const error = { at: new Date().toISOString(), message: 'Data was refused.' }
        const notices = ['The device "x" set a recovery key.']
        const forked_connections = [{ id, name: 'Bank', replaced_by: null }]
        return route.fulfill({
          json: { ...json, notices, forked_connections, last_error: error },
        })
      })
      await shown.goto(`${address}/${PLACE}`)
      await shown.reload()
      await shown.locator('.need').nth(3).waitFor()
      await assertFaultless(shown)
      const before = await ann.call('GET', '/api/v1/sync')
      await card(shown, 'Data was refused.').getByRole('button').press('Enter')
      await outcome(shown).getByText(/\S/).waitFor()
      assert.notDeepEqual(await ann.call('GET', '/api/v1/sync'), before)
      await shown.unrouteAll({ behavior: 'ignoreErrors' })
      await shown.context().close()
    }
    await Promise.all(['en-GB', 'de-DE'].map(check))
  })

  await t.test('a desktop notification only after a click, and only while away', async () => {
    const watching = await browser.open(address, { at: PLACE })
    await watching.addInitScript(DESKTOP)
    await watching.reload()
    await tabTo(watching, 'Allow notifications')
    await watching.keyboard.press('Enter')
    await watching.getByText('This window shows a notification').waitFor()
    await invite(ben, ann, 'Seen')
    await card(watching, 'Seen').waitFor()
    await watching.evaluate('window.isAway = true')
    await invite(ben, ann, 'Unseen')
    await card(watching, 'Unseen').waitFor()
    const shown = await watching.evaluate<{ title: string }[]>('window.shown')
    assert.deepEqual(
      shown.map(({ title }) => title),
      ['“Ben” invites you to “Unseen”'],
    )
    await watching.context().close()
  })

  await t.test('a console that may only read shows what is needed', async () => {
    const reading = await browser.open(address, { at: PLACE, scope: 'read' })
    await card(reading, 'Boat').waitFor()
    await press(reading, 'Boat', 'Approve')
    await card(reading, 'Boat').getByText('This window may only read').waitFor()
    await reading.context().close()
  })

  await t.test('changed keys are confirmed with the safety number that is shown', async (inner) => {
    const other = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
    inner.after(() => other.close())
    await signIn(other, server, ben.email, true)
    const path = `/api/v1/trust-cards/${benId}`
    await ann.call('PATCH', path, {})
    await card(page, 'Changed keys: ').waitFor()
    await press(page, 'Changed keys: ', 'Compare the safety number')
    await page.locator('.safety-number li').first().waitFor()
    const shown = await page.locator('.safety-number li').allTextContents()
    const { items } = await ann.call('GET', '/api/v1/trust-cards')
    assert.equal(shown.join(' '), items[0].safety_number)
    await tabTo(page, 'All 60 digits are the same')
    await page.keyboard.press('Enter')
    await outcome(page)
      .getByText(/^You confirmed the keys of/)
      .waitFor()
    const after = await ann.call('GET', '/api/v1/trust-cards')
    assert.equal(after.items[0].key_status, 'confirmed')
    await card(page, 'Changed keys: ').waitFor({ state: 'detached' })
  })
})
