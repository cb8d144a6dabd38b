/** People in the console, by keyboard alone: each action with its effect at the API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../pages/browser.ts'
import { until } from '../until.ts'
import { assertFaultless, consoleBrowser, tabTo } from './console.ts'
import { connect, twoUsers, wordsOf } from './two-people.ts'

/** Goes to a control by Tab, and presses Enter. */
async function press(page: Page, name: RegExp | string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** Goes to a field by Tab, and types instead of what it contains. */
async function type(page: Page, label: string, text: string): Promise<void> {
  const current = () =>
    page.evaluate<string | undefined>(`document.activeElement.labels?.[0]?.textContent`)
  for (let pressed = 0; (await current()) !== label; pressed++) {
    assert(pressed < 80, `no field ${label} by Tab`)
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type(text)
}

const row = (page: Page, name: string) =>
  page.locator('.person-row', { has: page.getByRole('link', { name, exact: true }) })

const HOSTILE = '<img src=x onerror=alert(1)> \u202etxt'
/** The hostile name as the page shows it: as text, without the change of direction. */
const SHOWN = '<img src=x onerror=alert(1)> txt'

test('people in the console', { skip }, async (t) => {
  const { ann, ben } = await twoUsers(t)
  const connection = await connect(ann, ben, 'Ben')
  const { user_id: benId } = (
    await ann.call('GET', `/api/v1/connections/${connection}`)
  ).members.find((one: { name_source: string }) => one.name_source !== 'own')
  const browser = await consoleBrowser(t)
  const page = await browser.open(ann.daemon.address, { at: '#/people' })
  const read = () => ann.call('GET', `/api/v1/connections/${connection}`)
  const go = async (place: string, heading: RegExp | string) => {
    await page.goto(`${ann.daemon.address}/#/people${place}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  }

  await t.test('the list shows what changes without a reload, searches and filters', async () => {
    await row(page, 'Ben').getByText('Words ready').waitFor()
    await row(page, 'Ben').getByText('never verified').waitFor()
    await ann.call('POST', '/api/v1/guest-codes', { label: 'Zoë', expires_in: 86_400 })
    await row(page, 'Zoë').getByText('Ends in 24 hours').waitFor()
    await ann.call('POST', '/api/v1/verify', { words: await wordsOf(ben, connection) })
    await row(page, 'Ben').getByText('verified just now').waitFor()
    await type(page, 'Search people', 'zoe')
    await row(page, 'Ben').waitFor({ state: 'detached' })
    assert.equal(await page.locator('.person-row').count(), 1)
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('Backspace')
    await row(page, 'Ben').waitFor()
    await page.getByLabel('Show').selectOption('Needs attention')
    await row(page, 'Ben').waitFor({ state: 'detached' })
    await row(page, 'Zoë').waitFor()
    await page.getByLabel('Show').selectOption('All')
  })

  await t.test('a star puts a person first', async () => {
    await press(page, 'Star Ben')
    await tabTo(page, 'Remove the star of Ben')
    assert.equal((await read()).favorite, true)
  })

  await t.test('the arrow keys move between the people', async () => {
    await row(page, 'Ben').getByRole('link').focus()
    await page.keyboard.press('ArrowDown')
    await page.locator('a:focus', { hasText: 'Zoë' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Zoë' }).waitFor()
  })

  await t.test('the last of many people is a key away, and keeps the focus', async () => {
    const { items } = await ann.call('GET', '/api/v1/guest-codes')
    const many = Array.from({ length: 3000 }, (_, i) => ({
      ...items[0],
      id: `gst_${i}`,
      label: `Guest ${i}`,
    }))
    await page.route('**/api/v1/guest-codes?*', (route) =>
      route.fulfill({ json: { items: many, next_cursor: null } }),
    )
    await go('', 'People')
    await row(page, 'Guest 0').getByRole('link').focus()
    await page.keyboard.press('End')
    await page.locator('a:focus', { hasText: /^Guest 2999$/ }).waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await row(page, 'Guest 0').waitFor()
    await page.locator('a:focus', { hasText: /^Guest 2999$/ }).waitFor()
    assert((await page.locator('.person-row').count()) < 60)
    await type(page, 'Search people', 'guest 1234')
    await row(page, 'Guest 0').waitFor({ state: 'detached' })
    await row(page, 'Guest 1234').waitFor()
    await type(page, 'Search people', '')
    await page.keyboard.press('Backspace')
    await page.unroute('**/api/v1/guest-codes?*')
    await go('/add', 'Add a person')
  })

  await t.test('names stay text', async () => {
    // A daemon refuses such a name, so the answer of a list is changed.
    const { items } = await ann.call('GET', '/api/v1/guest-codes')
    const changed = { items: [{ ...items[0], label: HOSTILE }], next_cursor: null }
    await page.route('**/api/v1/guest-codes?*', (route) => route.fulfill({ json: changed }))
    await go('', 'People')
    await row(page, SHOWN).waitFor()
    await go(`/${items[0].id}`, SHOWN)
    assert.equal(await page.locator('main img').count(), 0)
    await page.unroute('**/api/v1/guest-codes?*')
  })

  await t.test('a person is renamed, and gets tags', async () => {
    await go(`/${connection}`, 'Ben')
    await press(page, 'Rename')
    await page.locator('dialog').waitFor()
    await type(page, 'Name', 'Benjamin')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Benjamin' }).waitFor()
    // The dialog returned the focus.
    await page.locator('button:focus', { hasText: 'Rename' }).waitFor()
    assert.equal((await read()).name, 'Benjamin')
    await press(page, 'New tag')
    await type(page, 'Name', 'Family')
    await page.keyboard.press('Enter')
    const box = page.getByRole('checkbox', { name: 'Family' })
    await box.and(page.locator(':checked')).waitFor()
    const { items } = await ann.call('GET', '/api/v1/tags')
    assert.deepEqual((await read()).tag_ids, [items[0].id])
    await box.press('Space')
    await until('no tag', async () => (await read()).tag_ids.length === 0 || undefined)
  })

  await t.test('the own words are hidden until they are wanted', async () => {
    assert.equal(await page.locator('.spoken').count(), 0)
    await press(page, 'Show my words')
    await page.locator('.spoken strong').first().waitFor()
    const shown = await page.locator('.spoken strong').allTextContents()
    assert.equal(shown.join(' '), await wordsOf(ann, connection))
  })

  await t.test('keys are followed, compared and confirmed, with a name and a note', async () => {
    const card = async () =>
      (await ann.call('GET', '/api/v1/trust-cards')).items.find(
        ({ user_id }: { user_id: string }) => user_id === benId,
      )
    await press(page, 'Follow')
    await page.locator('.safety-number').waitFor()
    const { safety_number } = await card()
    const digits = (await page.locator('.safety-number').innerText()).replaceAll(/\s+/g, ' ')
    assert.equal(digits, safety_number)
    await press(page, 'As a QR code')
    await page.getByRole('img', { name: /60 digits/ }).waitFor()
    await press(page, 'Confirm the keys')
    await page.locator('dialog .safety-number').waitFor()
    await press(page, 'All digits are equal')
    await page.getByText('You have confirmed the keys').waitFor()
    assert.equal((await card()).key_status, 'confirmed')
    await type(page, 'Your name for this person', 'Benny')
    await type(page, 'Note', 'met in Bern')
    await press(page, 'Save')
    await page.getByText('Saved.').waitFor()
    const { display_name, name_source, note } = await card()
    assert.deepEqual([display_name, name_source, note], ['Benny', 'given', 'met in Bern'])
    await press(page, 'History of the keys')
    await page.getByRole('cell', { name: 'Keys confirmed' }).waitFor()
  })

  await t.test('a member becomes an owner and a member again, and the secret is new', async () => {
    const roleOfBen = async () =>
      (await read()).members.find(({ id }: { id: string }) => id === benId).role
    await press(page, 'Make owner Benny')
    await page.locator('dialog').waitFor()
    await press(page, 'Make owner')
    await page.getByRole('button', { name: 'Make member Benny' }).waitFor()
    assert.equal(await roleOfBen(), 'owner')
    await press(page, 'Make member Benny')
    await page.locator('dialog').waitFor()
    await press(page, 'Make member')
    await page.getByRole('button', { name: 'Make owner Benny' }).waitFor()
    assert.equal(await roleOfBen(), 'member')
    const { epoch } = await read()
    await press(page, 'New secret')
    await page.locator('dialog').waitFor()
    await press(page, 'New secret')
    await page.getByText(`number ${epoch + 1}`).waitFor()
    assert.equal((await read()).epoch, epoch + 1)
  })

  await t.test(
    'another person is invited, and the invitation is withdrawn in the list',
    async () => {
      await press(page, 'Invite another person')
      await type(page, 'E-mail address', 'carol@example.org')
      await page.keyboard.press('Enter')
      await page.getByText('The invitation was sent to carol@example.org.').waitFor()
      await go('', 'People')
      await row(page, 'carol@example.org').getByText('Waiting for the invitation').waitFor()
      await press(page, 'Withdraw the invitation of carol@example.org')
      await page.locator('dialog').waitFor()
      await press(page, 'Withdraw')
      await row(page, 'carol@example.org').waitFor({ state: 'detached' })
      const { sent } = await ann.call('GET', '/api/v1/invitations')
      assert.equal(sent[0].state, 'withdrawn')
    },
  )

  await t.test('a member is removed, and then the connection is deleted', async () => {
    await go(`/${connection}`, 'Benjamin')
    await press(page, 'Remove Benny')
    await page.locator('dialog').waitFor()
    await press(page, 'Remove')
    await page.getByRole('button', { name: 'Remove Benny' }).waitFor({ state: 'detached' })
    // The button that had the focus is gone.
    await page.locator('h2:focus', { hasText: 'Members' }).waitFor()
    assert.equal((await read()).members.length, 1)
    await press(page, 'Delete')
    await page.locator('dialog').waitFor()
    await press(page, 'Delete')
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await row(page, 'Zoë').waitFor()
    assert.deepEqual((await ann.call('GET', '/api/v1/connections')).items, [])
  })

  await t.test(
    'four words in person: the other side types them, and the keys are confirmed',
    async () => {
      await press(page, 'Add a person')
      await press(page, /^They have Countersign/)
      await type(page, 'Name of this person', 'Ben')
      await type(page, 'E-mail address', ben.email)
      const box = page.getByRole('checkbox')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Space')
      assert.equal(await box.isChecked(), true)
      await press(page, 'Send the invitation')
      await page.locator('.four-words h2:focus').waitFor()
      const words = await page.locator('.four-words .spoken strong').allTextContents()
      const { id } = await until('the invitation', async () => {
        await ben.call('POST', '/api/v1/sync')
        const { received } = await ben.call('GET', '/api/v1/invitations/pending')
        return received[0]
      })
      const typed = (said: readonly string[]) =>
        ben.call('POST', `/api/v1/invitations/${id}/approve`, { words: said.join(' ') })
      await assert.rejects(typed(words.toReversed()), /wrong_words/)
      await page.getByText('The words on the other side were different.').waitFor()
      await press(page, 'New words')
      await page.locator('.four-words .spoken').waitFor()
      await typed(await page.locator('.four-words .spoken strong').allTextContents())
      await page.getByText('Both devices have the same words.').waitFor()
      await press(page, 'To the page of this person')
      await page.getByText('You have confirmed the keys').waitFor()
    },
  )

  await t.test(
    'a guest gets a link, which is shown once, a QR code, a mail and a sheet',
    async () => {
      await go('/add', 'Add a person')
      await press(page, /^They do not have it/)
      await type(page, 'Name of the guest', 'Mum')
      await press(page, 'Make the link')
      await page.getByRole('heading', { level: 1, name: 'Mum' }).waitFor()
      const link = await page.locator('.notice code').first().innerText()
      assert.match(link, /#/)
      await press(page, 'Copy the link')
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), link)
      await page.getByRole('img', { name: 'QR code of the link for Mum' }).waitFor()
      await type(page, 'E-mail address', 'mum@example.org')
      await page.keyboard.press('Enter')
      // The account server of the tests has no relay.
      await page.getByText('Nothing was sent to mum@example.org').waitFor()
      await page.evaluate(`window.print = () => { window.isPrinted = true }`)
      await press(page, 'Print')
      await until('the printing', () => page.evaluate('window.isPrinted'))
      await page.emulateMedia({ media: 'print' })
      const sheet = await page.locator('body').innerText()
      assert.match(sheet, /Calls with Ann\s+For Mum/)
      assert.doesNotMatch(sheet, /Revoke|People|Countersign/)
      await page.emulateMedia({ media: null })
      await page.evaluate(`dispatchEvent(new Event('afterprint'))`)
      await go('', 'People')
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Mum' }).waitFor()
      await press(page, 'Revoke')
      await page.locator('dialog').waitFor()
      await press(page, 'Revoke')
      await page.locator(':focus', { hasText: 'This code is not valid any more.' }).waitFor()
      const { items } = await ann.call('GET', '/api/v1/guest-codes?state=revoked')
      assert.deepEqual(
        items.map(({ label }: { label: string }) => label),
        ['Mum'],
      )
    },
  )

  await t.test('a public page is made, paused, gets another address and is deleted', async () => {
    const pages = async () => (await ann.call('GET', '/api/v1/open-links')).items
    await go('/add/page', 'Add a person')
    await type(page, 'Title', 'Ann at work')
    await type(page, 'End of the address', 'ann-at-work')
    await press(page, 'Make the page')
    await page.getByRole('heading', { level: 3, name: /^Ann at work/ }).waitFor()
    await press(page, 'Pause')
    await page.getByText('Paused').waitFor()
    assert.equal((await pages())[0].state, 'paused')
    await press(page, 'Resume')
    await page.getByText('Visitors can ask').waitFor()
    await press(page, 'Change the address')
    await page.locator('dialog').waitFor()
    await type(page, 'End of the address', 'ann-w')
    await page.keyboard.press('Enter')
    await page.locator('code', { hasText: /ann-w$/ }).waitFor()
    await press(page, 'Delete')
    await page.locator('dialog').waitFor()
    await press(page, 'Delete')
    await page.getByText('You have no public page yet.').waitFor()
    assert.deepEqual(await pages(), [])
  })

  await t.test('what a window that may only read cannot change names the command', async () => {
    const reader = await browser.open(ann.daemon.address, { at: '#/people', scope: 'read' })
    await press(reader, 'Star Ben')
    await reader.locator('code', { hasText: /^countersignd open$/ }).waitFor()
    await reader.context().close()
  })

  await t.test('axe finds no fault in the page of a person, and in the German list', async () => {
    const [{ id }] = (await ann.call('GET', '/api/v1/connections')).items
    await go(`/${id}`, 'Ben')
    await press(page, 'Show my words')
    await press(page, 'As a QR code')
    await page.getByRole('img', { name: /60 digits/ }).waitFor()
    await assertFaultless(page)
    const german = await browser.open(ann.daemon.address, { locale: 'de-DE', at: '#/people' })
    await row(german, 'Ben').waitFor()
    await assertFaultless(german)
  })
})
