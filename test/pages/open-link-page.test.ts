/**
 * The form of an open link and the page of the mailed link, in a real browser, at a real account
 * server: by keyboard, without any script, in the sizes of a phone and a desktop.
 * `UPDATE_SCREENSHOTS=1 node --test --test-global-setup=test/setup.ts
 * test/pages/open-link-page.test.ts` makes their screenshots.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { startAccountServer } from '../account-server.ts'
import { openServiceDatabase } from '../service/database.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { confirmationIn } from '../service/letters.ts'
import { ask } from '../daemon.ts'
import {
  assertAccessible,
  assertFits,
  onDemand,
  saveScreenshot,
  skip,
  visitor,
  type Visitor,
} from './browser.ts'
import { HOSTILE } from './hostile-names.ts'
import { styleSheet } from './site.ts'

const OWNER = 'acc_01k9zq3v5w8x2y4z6a8b0c2d4e'

let visit: Visitor
let address = ''
let mailDir = ''
let hand: Awaited<ReturnType<typeof openServiceDatabase>>

describe('the pages of an open link', { skip }, () => {
  const closers: (() => unknown)[] = []
  before(async () => {
    const server = await startAccountServer({
      after: (work) => void closers.unshift(work as () => unknown),
    })
    address = server.address
    mailDir = join(server.stateDir, 'mail')
    hand = await openServiceDatabase({ url: null, file: join(server.stateDir, 'account.db') })
    closers.unshift(() => hand.close())
    await hand.db
      .insertInto('accounts')
      .values({ id: OWNER, kind: 'person', display_name: HOSTILE })
      .execute()
    visit = await visitor()
    closers.unshift(() => visit.close())
  })
  after(async () => {
    for (const close of closers) await close()
  })

  async function newLink(
    state: 'active' | 'paused' = 'active',
    title = 'The desk',
  ): Promise<string> {
    const slug = `link-${newId('', Date.now())}`
    await hand.db
      .insertInto('open_links')
      .values({
        id: newId('lnk_', Date.now()),
        account_id: OWNER,
        slug,
        title,
        state,
        preset_id: null,
        created_at: Date.now(),
      })
      .execute()
    return slug
  }

  /** Opens a page with the style sheet of the sources. */
  async function open(path: string): Promise<Page> {
    const page = await visit.open('about:blank', null)
    const body = await styleSheet()
    await page.route('**/assets/style.css', (route) =>
      route.fulfill({ contentType: 'text/css', body }),
    )
    await page.goto(address + path)
    return page
  }

  const mailedTo = async (email: string) => new URL(await confirmationIn(mailDir, email)).pathname

  const focused = (page: Page) => page.evaluate('document.activeElement?.id')
  const heading = (page: Page) => page.locator('h1').textContent()
  const stateOf = async (email: string) =>
    (
      await hand.db
        .selectFrom('open_link_requests')
        .select('state')
        .where('email', '=', email)
        .execute()
    ).map(({ state }) => state)

  it('can be filled in, sent and confirmed by keyboard alone', async () => {
    const slug = await newLink()
    await using page = await open(`/o/${slug}`)
    const type = async (field: string, text: string) => {
      await page.keyboard.press('Tab')
      assert.equal(await focused(page), field)
      await page.keyboard.type(text)
    }
    await type('display_name', 'Gus')
    await type('email', 'gus@example.org')
    await type('message', 'Hello,\nit is me')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Open your mailbox' }).waitFor()
    assert.deepEqual(await stateOf('gus@example.org'), ['unconfirmed'])

    await using confirmation = await open(await mailedTo('gus@example.org'))
    assert.match(
      (await confirmation.innerText('main')) ?? '',
      /gus@example\.org.*Your message\nHello,\nit is me/s,
    )
    assert.deepEqual(await stateOf('gus@example.org'), ['unconfirmed'])
    await confirmation.keyboard.press('Tab')
    await confirmation.keyboard.press('Enter')
    await confirmation.getByRole('heading', { name: 'You have asked to connect' }).waitFor()
    assert.deepEqual(await stateOf('gus@example.org'), ['pending'])
    // Sent once more, as by a reload.
    await confirmation.reload()
    assert.equal(await heading(confirmation), 'This link is no longer valid')
  })

  it('are rejected with the button "This was not me", and their link ends', async () => {
    const slug = await newLink()
    await using page = await open(`/o/${slug}`)
    await page.fill('#display_name', 'Mallory')
    await page.fill('#email', 'victim@example.org')
    await page.press('#email', 'Enter')
    await page.getByRole('heading', { name: 'Open your mailbox' }).waitFor()
    const path = await mailedTo('victim@example.org')
    await using confirmation = await open(path)
    await assertAccessible(confirmation)
    await confirmation.getByRole('button', { name: 'This was not me' }).click()
    await confirmation.getByRole('heading', { name: 'Nothing was confirmed' }).waitFor()
    await assertAccessible(confirmation)
    assert.deepEqual(await stateOf('victim@example.org'), [])
    await confirmation.goto(address + path)
    assert.equal(await heading(confirmation), 'This link is no longer valid')
  })

  it('show the owner with the headline, and what becomes of a request', async () => {
    const headline = (text: string | null) =>
      hand.db.updateTable('accounts').set({ headline: text }).where('id', '=', OWNER).execute()
    await headline('Repairs <clocks>')
    await using page = await open(`/o/${await newLink()}`)
    assert.equal(await page.innerText('.headline'), 'Repairs <clocks>')
    assert.match(await page.innerText('main'), /If your request is declined, you get no mail/)
    assert.equal(await page.innerText('.server'), `on ${new URL(address).host}`)
    await headline(null)
    await page.reload()
    assert.equal(await page.locator('.headline').count(), 0)
  })

  it('show errors beside the field, keep the input, and focus the field', async () => {
    const slug = await newLink()
    await using page = await open(`/o/${slug}`)
    await page.fill('#display_name', 'Gus \u202egnihton')
    await page.fill('#email', 'gus@localhost')
    await page.fill('#message', `  ${HOSTILE}\n\nbye`)
    await page.press('#email', 'Enter')
    await page.locator('#display_name-fault').waitFor()
    assert.match(await page.title(), /^Not sent: The desk/)
    // The browser moves the focus after it has drawn the page.
    await page.locator('#display_name:focus').waitFor()
    assert.equal(await page.getAttribute('#display_name', 'aria-invalid'), 'true')
    const described = await page.getAttribute('#display_name', 'aria-describedby')
    assert.match((await page.locator(`#${described}`).textContent()) ?? '', /Control characters/)
    assert.equal(await page.inputValue('#email'), 'gus@localhost')
    assert.equal(await page.inputValue('#message'), `${HOSTILE}\n\nbye`)
    assert.equal(await page.getAttribute('#email', 'aria-invalid'), null)
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('Gus')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Open your mailbox' }).waitFor()
  })

  it('show names as text, in every state', async () => {
    const title = `${HOSTILE}\u{1f600}`
    for (const state of ['active', 'paused'] as const) {
      await using page = await open(`/o/${await newLink(state, title)}`)
      assert.equal(await heading(page), title)
      assert((await page.innerText('main')).includes(HOSTILE))
      assert.equal(await page.locator('img').count(), 0)
      assert.equal(await page.locator('form').count(), state === 'active' ? 1 : 0)
    }
    await using none = await open('/o/no-such-link')
    assert.equal(await heading(none), 'There is no such link')
  })

  it('fit phones and desktops, light and dark, and each field has its label', async () => {
    const slug = await newLink('active', 'W'.repeat(100))
    await using page = await open(`/o/${slug}`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await assertFits(page)
    }
    for (const label of ['Your name', 'Your e-mail address', 'Your message (optional)'])
      assert.equal(await page.getByLabel(label, { exact: true }).count(), 1)
    assert.equal(await page.locator('main').count(), 1)
    assert.equal(await page.locator('h1').count(), 1)
    assert.equal(await page.locator('script').count(), 0)
    await page.fill('#display_name', '\u202e')
    await page.fill('#email', 'a@b')
    await page.press('#email', 'Enter')
    await page.locator('.fault').waitFor()
    await assertFits(page)
  })

  it('make their screenshots', onDemand, async () => {
    const named = (display_name: string) =>
      hand.db
        .updateTable('accounts')
        .set({ display_name, headline: 'Calculating engines' })
        .where('id', '=', OWNER)
        .execute()
    await named('Ada Lovelace')
    const slug = await newLink('active', 'Talk to the workshop')
    await using wide = await open(`/o/${slug}`)
    await wide.setViewportSize({ width: 1280, height: 900 })
    await saveScreenshot(wide, 'open-link-page.png')

    await using phone = await wide
      .context()
      .browser()!
      .newContext({
        colorScheme: 'dark',
        viewport: { width: 360, height: 740 },
      })
    const page = await phone.newPage()
    await page.goto(`${address}/o/${slug}`)
    await page.evaluate(`document.querySelector('form').noValidate = true`)
    const fill = async (email: string) => {
      await page.fill('#display_name', 'Charles Babbage')
      await page.fill('#email', email)
      await page.fill('#message', 'We met at the fair.\nMay I call you on Friday?')
      await page.click('button[type=submit]')
    }
    await fill('not an address')
    await page.locator('#email-fault').waitFor()
    await saveScreenshot(page, 'open-link-page-phone.png')
    await page.evaluate(`document.querySelector('form').noValidate = true`)
    await fill('charles@example.org')
    await page.goto(address + (await mailedTo('charles@example.org')))
    await saveScreenshot(page, 'confirm-page.png')
    await named(HOSTILE)
  })

  it('accept a form only from their own page', async () => {
    const path = `/o/${await newLink()}`
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const form = (email: string) => `display_name=Gus&email=${email}%40example.org`
    const cases: [what: string, headers: Record<string, string>, status: number][] = [
      ['own', { Origin: address, 'Sec-Fetch-Site': 'same-origin' }, 200],
      ['plain', {}, 200],
      ['foreign', { Origin: 'https://evil.example' }, 403],
      ['null', { Origin: 'null' }, 403],
      ['cross', { 'Sec-Fetch-Site': 'cross-site' }, 403],
      ['same-site', { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate' }, 403],
      ['json', { 'Content-Type': 'application/json' }, 415],
    ]
    for (const [email, headers, expected] of cases) {
      const { status } = await ask(address, 'POST', path, {
        headers: { ...type, ...headers },
        body: form(email),
      })
      assert.equal(status, expected, email)
      const stored = await stateOf(`${email}@example.org`)
      assert.deepEqual(stored, expected === 200 ? ['unconfirmed'] : [], email)
    }
    const huge = { headers: type, body: `display_name=${'x'.repeat(1 << 20)}&email=a%40b.de` }
    assert.equal((await ask(address, 'POST', path, huge)).status, 413)
    const twice = { headers: type, body: 'email=a%40b.de&email=c%40d.de&display_name=x' }
    assert.equal((await ask(address, 'POST', path, twice)).status, 400)
  })

  it('can be opened from mails and chats, and not in frames', async () => {
    for (const path of [`/o/${await newLink()}`, '/confirm/-unknown_token-']) {
      const headers = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }
      const { status, headers: response } = await ask(address, 'GET', `${path}?utm_source=x`, {
        headers,
      })
      assert.equal(status, path.startsWith('/o/') ? 200 : 404)
      const policy = String(response['content-security-policy'])
      for (const rule of ["script-src 'none'", "form-action 'self'", "frame-ancestors 'none'"])
        assert(policy.includes(rule), rule)
      // With no-referrer, a browser would send its forms with `Origin: null`.
      assert.equal(response['referrer-policy'], 'same-origin')
      assert.equal(response['set-cookie'], undefined)
    }
  })

  it('logged nothing, threw nothing and kept to their policy', () => {
    assert.deepEqual(visit.messages, [])
  })
})
