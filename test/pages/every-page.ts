/**
 * Walks through every state of every public page of an account server, in one language: the pages
 * with scripts at a small site, and the pages with forms at a real account server.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { newId } from '../../src/crypto/encoding/id.ts'
import { stampFragment } from '../../src/crypto/stamp.ts'
import { windowOf } from '../../src/crypto/code.ts'
import { startAccountServer } from '../account-server.ts'
import { OPEN_LINK_REQUEST_PREFIX } from '../../src/service/links/open-link-requests.ts'
import { openServiceDatabase } from '../service/database.ts'
import { confirmationIn } from '../service/letters.ts'
import { insecure, MINUTE, T0, type Visitor } from './browser.ts'
import { guestOn } from './guests.ts'
import { startSite } from './site.ts'
import { stampOn } from './stamps.ts'

/** Called with each state of a page. */
export type Look = (page: Page, state: string) => Promise<void>

const OWNER = 'acc_01k9zq3v5w8x2y4z6a8b0c2d4e'

/** Scripts that make the file that is chosen next one that the page cannot compare. */
const FILE_FAULTS = {
  'stamp-file-too-large': `Object.defineProperty(File.prototype, 'size', { get: () => 2 ** 31 })`,
  'stamp-file-unreadable': `File.prototype.arrayBuffer = () => Promise.reject(new Error('directory'))`,
}

interface Walk {
  readonly visit: Visitor
  /** The name of every other person. */
  readonly name: string
  readonly look: Look
  readonly t: { after: (work: () => unknown) => void }
}

/** Walks through the pages of guest codes and stamps. */
export async function walkScripted({ visit, name, look, t }: Walk): Promise<void> {
  const site = await startSite(T0)
  t.after(() => site.close())
  const guest = guestOn(site, name, name)
  Object.assign(site.guests.get(guest.id)!, { expiresAt: T0 + 86_400_000 })

  const page = await visit.open(guest.link)
  await page.locator('#who').waitFor()
  await look(page, 'guest')
  await page.click('#called')
  await look(page, 'guest-called')
  const words = {
    wrong: guestOn(site).theirs(windowOf(T0)),
    own: guest.own(windowOf(T0)),
    'two words': 'agile agile',
    'one word': 'agile',
    'an unknown word': 'agil agile agile',
    'a word like no other': 'zzzzzzzz agile agile',
    theirs: guest.theirs(windowOf(T0)),
  }
  for (const [what, typed] of Object.entries(words)) {
    await page.fill('#heard', typed)
    await page.press('#heard', 'Enter')
    await page.locator('#verdict[data-verdict]').waitFor()
    await look(page, `guest-called-${what.replaceAll(' ', '-')}`)
  }
  await page.click('#again')
  await page.click('#calling')
  await page.locator('#words[data-window]').waitFor()
  await look(page, 'guest-calling')
  await page.fill('#heard', guest.theirs(windowOf(T0)))
  await page.press('#heard', 'Enter')
  await page.locator('#verdict[data-verdict=used]').waitFor()
  await look(page, 'guest-calling-used')
  await page.clock.runFor(MINUTE)
  await page.fill('#heard', guest.theirs(windowOf(T0) + 1))
  await page.press('#heard', 'Enter')
  await page.locator('#verdict[data-verdict=theirs]').waitFor()
  await look(page, 'guest-calling-theirs')
  await page.clock.runFor(3 * MINUTE)
  await page.locator('#who').waitFor()
  await look(page, 'guest-after-the-call')
  await page.click('#forget')
  await page.locator('#notice[data-kind=info]').waitFor()
  await look(page, 'guest-removed')
  await page.goto(`${guest.plain}#half`)
  await page.locator('#notice[data-kind=warn]').waitFor()
  await look(page, 'guest-half-a-link')
  await page.close()
  for (const aheadMs of [-3_600_000, 90_000]) {
    const late = await visit.open(guestOn(site, name).link, aheadMs)
    await late.locator('#clock:not(:empty)').waitFor()
    await look(late, aheadMs < 0 ? 'guest-clock-behind' : 'guest-clock-ahead')
    await late.close()
  }
  for (const state of ['revoked', 'expired', 'unknown'] as const) {
    const { id, plain } = guestOn(site, name)
    if (state === 'unknown') site.guests.delete(id)
    else site.guests.get(id)!.state = state
    const ended = await visit.open(plain)
    await look(ended, `guest-${state}`)
    await ended.close()
  }
  const still = await visit.openWithoutScript(guest.link)
  await look(still, 'guest-without-script')
  await still.close()
  const open = await visit.open(insecure(guest.link))
  await open.locator('#notice[data-kind=warn]').waitFor()
  await look(open, 'guest-insecure')
  await open.close()

  const stamps = {
    stamp: stampOn(site, { name }),
    'stamp-without-receipt': stampOn(site, { name, receipt: false }),
    'stamp-without-name': stampOn(site, { name: '\u115f' }),
  }
  for (const [state, stamp] of Object.entries(stamps)) {
    const opened = await visit.open(stamp.link)
    await opened.locator('#result[data-kind=found]').waitFor()
    await opened.click('#about summary')
    await look(opened, state)
    for (const [kind, buffer] of [
      ['bad', Buffer.from('another file')],
      ['ok', stamp.content],
    ] as const) {
      await opened.setInputFiles('#file', { name, mimeType: 'text/plain', buffer })
      await opened.locator(`#result[data-kind=${kind}]`).waitFor()
      await look(opened, `${state}-${kind}`)
    }
    await opened.close()
  }
  const { stamp } = stamps
  const file = { name, mimeType: 'text/plain', buffer: stamp.content }
  for (const [state, fault] of Object.entries(FILE_FAULTS)) {
    const opened = await visit.open(stamp.link)
    await opened.locator('#result[data-kind=found]').waitFor()
    await opened.evaluate(fault)
    await opened.setInputFiles('#file', file)
    await opened.locator('#result[data-kind=warn]').waitFor()
    await look(opened, state)
    await opened.close()
  }
  const unfetched = await visit.open(stamp.plain)
  await unfetched.route('**/file', (route) => route.fulfill({ status: 500 }))
  await unfetched.reload()
  await unfetched.locator('#result[data-kind=warn]').waitFor()
  await look(unfetched, 'stamp-not-fetched')
  await unfetched.close()
  const bare = await visit.openWithoutScript(stamp.link)
  await look(bare, 'stamp-without-script')
  await bare.close()
  const faults = {
    'stamp-half-a-link': stamp.plain,
    'stamp-of-another-link': `${stamp.plain}#${stampFragment(stamps['stamp-without-name'].jws)}`,
    'stamp-unknown': `${site.origin}/s/stm_00000000000000000000000000`,
    'stamp-insecure': insecure(stamp.link),
  }
  for (const [state, url] of Object.entries(faults)) {
    const opened = await visit.open(url)
    await opened.locator('.result:not([data-kind=wait])').first().waitFor()
    await look(opened, state)
    if (state === 'stamp-half-a-link') {
      await opened.setInputFiles('#file', file)
      await opened.locator('#result bdi').waitFor({ state: 'detached' })
      await look(opened, `${state}-with-its-file`)
    }
    await opened.close()
  }
}

/** Walks through the pages of open links and of mailed links, and the start page. */
export async function walkForms({ visit, name, look, t }: Walk): Promise<void> {
  const { address, stateDir } = await startAccountServer(t)
  const mailDir = join(stateDir, 'mail')
  const { db, close } = await openServiceDatabase({ url: null, file: join(stateDir, 'account.db') })
  t.after(close)
  await db
    .insertInto('accounts')
    .values({ id: OWNER, kind: 'person', display_name: name, headline: name })
    .execute()
  const slugs = { active: 'the-desk', paused: 'the-hall' } as const
  for (const state of ['active', 'paused'] as const)
    await db
      .insertInto('open_links')
      .values({
        id: newId('lnk_', T0),
        account_id: OWNER,
        slug: slugs[state],
        title: name,
        state,
        preset_id: null,
        created_at: T0,
      })
      .execute()

  const page = await visit.open(`${address}/`, null)
  await look(page, 'home')
  await page.goto(`${address}/o/${slugs.active}`)
  await look(page, 'open-link')
  await page.evaluate('document.querySelector("form").noValidate = true')
  await page.fill('#email', 'nobody')
  await Promise.all([page.waitForNavigation(), page.click('form button')])
  await look(page, 'open-link-empty')
  await page.evaluate(`document.querySelector('form').noValidate = true
    document.querySelectorAll('[maxlength]').forEach((one) => one.removeAttribute('maxlength'))`)
  await page.fill('#display_name', 'a\u202eb')
  await page.fill('#email', 'gus@example.org')
  await page.fill('#message', 'x'.repeat(1001))
  await Promise.all([page.waitForNavigation(), page.click('form button')])
  await look(page, 'open-link-faulty')
  await page.goto(`${address}/o/${slugs.active}`)
  await page.fill('#display_name', name)
  await page.fill('#email', 'gus@example.org')
  await page.fill('#message', name)
  await Promise.all([page.waitForNavigation(), page.click('form button')])
  await look(page, 'open-link-sent')
  await page.goto(`${address}/o/${slugs.paused}`)
  await look(page, 'open-link-paused')
  await page.goto(`${address}/o/no-such-link`)
  await look(page, 'open-link-unknown')

  const mailed = await confirmationIn(mailDir, 'gus@example.org')
  await page.goto(address + new URL(mailed).pathname)
  await look(page, 'confirm-request')
  await Promise.all([page.waitForNavigation(), page.click('button[value=confirm]')])
  await look(page, 'confirm-request-sent')
  await page.goto(`${address}/confirm/${'A'.repeat(43)}`)
  await look(page, 'confirm-ended')

  for (const [token, answer] of [
    ['B'.repeat(43), 'confirm'],
    ['C'.repeat(43), 'reject'],
  ] as const) {
    await db
      .insertInto('email_claims')
      .values({
        id: newId('eml_', T0),
        account_id: OWNER,
        address: `${answer}@example.org`,
        token_hash: createHash('sha256').update(token).digest('hex'),
        created_at: Date.now(),
        expires_at: Date.now() + 3_600_000,
      })
      .execute()
    await page.goto(`${address}/confirm/${token}`)
    await look(page, 'confirm-address')
    await Promise.all([page.waitForNavigation(), page.click(`button[value=${answer}]`)])
    await look(page, `confirm-address-${answer}`)
  }
  const taken = 'D'.repeat(43)
  await db
    .insertInto('email_claims')
    .values({
      id: newId('eml_', T0),
      account_id: OWNER,
      address: 'confirm@example.org',
      token_hash: createHash('sha256').update(taken).digest('hex'),
      created_at: Date.now(),
      expires_at: Date.now() + 3_600_000,
    })
    .execute()
  await page.goto(`${address}/confirm/${taken}`)
  await look(page, 'confirm-address-taken')

  const { id: open_link_id } = await db
    .selectFrom('open_links')
    .select('id')
    .where('slug', '=', slugs.active)
    .executeTakeFirstOrThrow()
  const waiting = Array.from({ length: 100 }, () => ({
    id: newId(OPEN_LINK_REQUEST_PREFIX, T0),
    open_link_id,
    account_id: OWNER,
    display_name: name,
    email: 'eve@example.org',
    message: null,
    state: 'pending' as const,
    token_hash: null,
    connection_id: null,
    created_at: Date.now(),
    expires_at: Date.now() + 3_600_000,
  }))
  await db.insertInto('open_link_requests').values(waiting).execute()
  await page.goto(`${address}/o/${slugs.active}`)
  await page.fill('#display_name', name)
  await page.fill('#email', 'tom@example.org')
  await Promise.all([page.waitForNavigation(), page.click('form button')])
  await look(page, 'open-link-full')
  await page.close()
}
