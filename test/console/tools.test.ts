/** The pages of stamps, the log and tokens: each action by keyboard, checked at the API. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import type { AuditChain } from '../../src/api/rest/audit.ts'
import type { ListedStamp } from '../../src/api/rest/stamps.ts'
import type { ApiToken } from '../../src/api/rest/api-tokens.ts'
import type { Webhook } from '../../src/api/live/webhooks.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { linkOf, wordsFrom } from '../e2e/peer.ts'
import { asOwner } from '../handlers/people.ts'
import { until } from '../until.ts'
import { skip } from '../pages/browser.ts'
import { assertFaultless, consoleBrowser, tabTo } from './console.ts'

const HOSTILE = '=1+1 <img src=x onerror="violated(1)">'
const OFFER = Buffer.from('Offer 12: 4,000 CHF\n')
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const itemsOf = async <T>(daemon: TestDaemon, path: string) =>
  (await asOwner<{ items: T[] }>(daemon, 'GET', path)).items

/** Gives a file input a file, as the dialog of the browser does after Enter. */
const choose = (input: Locator, name: string, buffer: Buffer) =>
  input.setInputFiles({ name, mimeType: 'text/plain', buffer })

/** Presses Tab until the control has the focus, then Enter. */
async function press(page: Page, name: RegExp | string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** Types into the field with this label. */
async function typeInto(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).focus()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type(text)
}

/** Returns the text of the file that the page saves. */
async function saved(page: Page, save: () => Promise<void>): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), save()])
  return readFile(await download.path(), 'utf8')
}

const card = (page: Page, title: string) =>
  page.locator('section', { has: page.getByRole('heading', { name: title, exact: true }) })

test('stamps, the log, tokens and webhooks', { skip }, async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const browser = await consoleBrowser(t)
  const open = (at: string, scope: 'write' | 'full' = 'full') =>
    browser.open(daemon.address, { at, scope })

  await t.test('a file is stamped, and the stamp is handed over', async () => {
    const page = await open('#/stamps', 'write')
    const form = card(page, 'Stamp something')
    await choose(form.locator('input[type=file]'), 'Offer.txt', OFFER)
    await form.getByText('Offer.txt, 20 bytes').waitFor()
    await typeInto(page, 'What it is for', HOSTILE)
    await press(page, 'Stamp')
    await form.locator(':focus', { hasText: 'Stamped.' }).waitFor()
    const [stamp] = await itemsOf<ListedStamp>(daemon, '/api/v1/stamps')
    assert.deepEqual(
      [stamp?.sha256, stamp?.context, stamp?.media_type],
      [hashOf(OFFER), HOSTILE, 'text/plain'],
    )
    assert.equal(await form.locator('code.long').innerText(), stamp?.verification_url)
    await form.getByRole('img', { name: 'QR code of the link' }).waitFor()
    await press(page, /^Copy link of the stamp/)
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), stamp?.verification_url)
    const file = JSON.parse(await saved(page, () => press(page, 'Save the stamp file'))) as object
    const whole = await asOwner<Record<string, unknown>>(
      daemon,
      'GET',
      `/api/v1/stamps/${stamp?.id}`,
    )
    const { stamp: jws, key_log, receipt } = whole
    assert.deepEqual(file, { stamp: jws, key_log, receipt })

    const list = card(page, 'Your stamps')
    assert.deepEqual(await list.locator('tbody tr td:first-child').allInnerTexts(), [HOSTILE])
    await asOwner(daemon, 'POST', '/api/v1/stamp', { content: 'x', context: 'Second' })
    await list.locator('td', { hasText: /^Second$/ }).waitFor()
    await press(page, /^Show.*Second/)
    await page.getByRole('dialog').getByText('They prove nothing').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.context().close()
  })

  await t.test('a stamp is checked against a file, a text and a changed file', async (t) => {
    const other = await startDaemon()
    t.after(() => other.close())
    const foreign = await asOwner<Record<string, string>>(other, 'POST', '/api/v1/stamp', {
      content: 'My text',
    })
    const link = (await itemsOf<ListedStamp>(daemon, '/api/v1/stamps')).at(-1)?.verification_url
    const page = await open('#/stamps', 'write')
    const form = card(page, 'Check a stamp')
    const [content, stampFile] = [
      form.locator('input[type=file]').first(),
      form.locator('input[type=file]').last(),
    ]
    const verdict = page.locator('.verdict')
    const check = async () => {
      await press(page, 'Check')
      await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
      await verdict.waitFor()
      return [await verdict.getAttribute('data-kind'), await verdict.locator('h2').innerText()]
    }
    await choose(content, 'Offer.txt', OFFER)
    await form.getByText('Offer.txt, 20 bytes').waitFor()
    await typeInto(page, 'Link of the stamp', String(link))
    assert.deepEqual(await check(), ['ok', 'You signed exactly this content.'])
    await choose(content, 'Changed.txt', Buffer.from('Offer 12: 9,000 CHF\n'))
    await form.getByText('Changed.txt, 20 bytes').waitFor()
    assert.deepEqual(await check(), ['bad', 'This is not what was stamped.'])
    await typeInto(page, 'Link of the stamp', foreign['verification_url']!)
    assert.deepEqual(await check(), ['warn', 'This link is of another server.'])

    await press(page, 'Check a text instead')
    await typeInto(page, 'The text', 'My text')
    await choose(stampFile, 'My text.stamp', Buffer.from(JSON.stringify(foreign)))
    await form.getByText('Stamp file: My text.stamp').waitFor()
    assert.deepEqual(await check(), [
      'warn',
      'The stamp fits, but this device does not know the signer.',
    ])
    const { stamp } = await asOwner<{ stamp: { root: string } }>(
      other,
      'POST',
      '/api/v1/stamps/check',
      {
        sha256: hashOf(Buffer.from('My text')),
        link: foreign['verification_url'],
      },
    )
    await typeInto(page, 'Root of the signer', stamp.root)
    await press(page, 'Check with this root')
    await page.locator('.verdict[data-kind=ok]').waitFor()
    await choose(stampFile, 'other.txt', OFFER)
    await form.getByText('“other.txt” is not a stamp file.').waitFor()
    await page.context().close()
  })

  await t.test('checks of words are listed, filtered and saved', async () => {
    const guest = await asOwner<{ id: string; url: string }>(
      daemon,
      'POST',
      '/api/v1/guest-codes',
      { label: HOSTILE },
    )
    const page = await open('#/log', 'write')
    await page.getByText('No words were checked yet.').waitFor()
    await asOwner(daemon, 'POST', '/api/v1/verify', { words: 'matador carload recede' })
    const rows = page.locator('tbody tr')
    await rows.getByText('not verified').waitFor()
    const { k } = linkOf(guest.url)
    const window = Math.floor(Date.now() / 60_000)
    const words = wordsFrom({ label: 'guest', k, subject: guest.id, speaker: guest.id, window })
    await asOwner(daemon, 'POST', '/api/v1/verify', { words })
    await rows.getByText(HOSTILE).waitFor()
    const outcomes = () => rows.locator('td:nth-child(2)').allInnerTexts()
    assert.deepEqual(await outcomes(), ['verified', 'not verified'])
    await typeInto(page, 'Name contains', 'IMG')
    await rows.getByText('not verified').waitFor({ state: 'detached' })
    assert.deepEqual(await outcomes(), ['verified'])
    const csv = await saved(page, () => press(page, 'Save as CSV'))
    assert.equal(csv.charCodeAt(0), 0xfeff)
    const [head, row, end] = csv.slice(1).split('\r\n')
    assert.equal(head, 'Time,Outcome,Person,Looked up,Through,id')
    // A spreadsheet must not compute the name.
    assert.match(row ?? '', /,verified,"'=1\+1 <img src=x onerror=""violated\(1\)"">",on this/)
    assert.equal(end, '')
    await page.context().close()
  })

  await t.test('the audit log needs full rights, and shows whether it is complete', async () => {
    const write = await open('#/log/audit', 'write')
    await write.getByText('countersignd open --full').first().waitFor()
    await write.context().close()
    const page = await open('#/log/audit')
    await page.getByText(/^✓?\s*Yes\. Each of the \d+ lines/).waitFor()
    await page.locator('tbody code', { hasText: 'POST /api/v1/stamp' }).first().waitFor()
    const opening = page.locator('tbody tr', { hasText: 'POST /console/v1/session' }).first()
    await opening.getByText('code of “countersignd open”').waitFor()
    await asOwner(daemon, 'POST', '/api/v1/tags', { name: 'Live' })
    await typeInto(page, 'Token or request contains', '/tags')
    await page.getByText('No entry').or(page.locator('tbody tr').first()).waitFor()
    await asOwner(daemon, 'POST', '/api/v1/guest-codes', { label: 'event' })
    await page.locator('tbody tr code', { hasText: 'POST /api/v1/tags' }).waitFor()
    const csv = await saved(page, () => press(page, 'Save as CSV'))
    assert.match(csv, /command line,POST \/api\/v1\/tags,201,done,tag_/)
    const { head } = await asOwner<AuditChain>(daemon, 'GET', '/api/v1/audit/chain')
    await page.locator('summary').press('Enter')
    await typeInto(page, 'A head that you noted earlier', head)
    await press(page, 'Check')
    await page.getByText('The log still contains this head').waitFor()
    await typeInto(page, 'A head that you noted earlier', '0'.repeat(64))
    await press(page, 'Check')
    await page.getByText('does not contain this head').waitFor()
    await page.context().close()
  })

  await t.test('a token is created, shown once, and revoked', async () => {
    const page = await open('#/tokens')
    await page.getByText('this window').waitFor()
    await typeInto(page, 'Name', HOSTILE)
    await page.getByLabel('read', { exact: true }).focus()
    await page.keyboard.press('ArrowDown')
    await page.getByLabel('How long it is valid').selectOption('day')
    await press(page, 'Make the token')
    const made = card(page, 'New token')
    await made.locator(':focus', { hasText: 'Copy the token now.' }).waitFor()
    const token = await made.locator('code.long').innerText()
    const listed = async () =>
      (await itemsOf<ApiToken>(daemon, '/api/v1/api-tokens')).find(({ name }) => name === HOSTILE)
    const { scope, expires_at, created_at } = (await listed())!
    const hours = (Date.parse(expires_at!) - Date.parse(created_at)) / 3_600_000
    assert.deepEqual([scope, hours], ['write', 24])
    const status = () => daemon.request('GET', '/api/v1/status', { token })
    assert.equal((await status()).status, 200)
    await made.locator('summary').press('Enter')
    assert.match(await made.locator('pre').first().innerText(), new RegExp(`Bearer ${token}`))
    await press(page, 'I have copied it')
    assert.equal((await page.content()).includes(token), false)

    await asOwner(daemon, 'POST', '/api/v1/api-tokens', { name: 'Later', scope: 'read' })
    await page.locator('td', { hasText: /^Later/ }).waitFor()
    await press(page, /^Revoke the token “=1/)
    await page.getByRole('dialog').waitFor()
    await press(page, 'Revoke')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal((await status()).status, 401)
    // The row of the token had the focus, and has left the list.
    await page.locator('h2:focus', { hasText: 'Tokens in use' }).waitFor()
    assert.equal((await listed())?.state, 'revoked')
    await page.getByText('1 token that ended').waitFor()
    await page.context().close()

    const write = await open('#/tokens', 'write')
    await write.getByText('countersignd open --full').first().waitFor()
    await write.context().close()
  })

  await t.test('programs are connected by texts without a secret', async () => {
    const page = await open('#/tokens/connect', 'write')
    await press(page, /^Copy text for “An assistant that starts/)
    const settings = JSON.parse(
      await page.evaluate<string>('navigator.clipboard.readText()'),
    ) as unknown
    assert.deepEqual(settings, {
      mcpServers: { countersign: { command: 'countersignd', args: ['mcp'] } },
    })
    const texts = await page.locator('pre').allInnerTexts()
    assert(texts.some((text) => text.includes(`${daemon.address}/api/v1/mcp`)))
    assert(!texts.some((text) => text.includes('csd_')))
    await page.context().close()
  })

  await t.test('a webhook is created, tested, paused and removed', async () => {
    const page = await open('#/tokens/webhooks')
    const hooks = () => itemsOf<Webhook>(daemon, '/api/v1/webhooks')
    await page.getByText('There is no webhook yet.').waitFor()
    await typeInto(page, 'Address', 'http://127.0.0.1:1/hook')
    await typeInto(page, 'Name', HOSTILE)
    await page.getByLabel('Stamps', { exact: true }).focus()
    await page.keyboard.press('Space')
    await press(page, 'Make the webhook')
    await page.getByText('whsec_').waitFor()
    await press(page, 'I have copied it')
    const [made] = await hooks()
    assert.deepEqual(
      [made?.name, made?.types, made?.token_id],
      [HOSTILE, ['verification.*', 'stamp.*'], null],
    )
    await press(page, /^Send a test/)
    await page.getByText('The test did not arrive: nothing answers there.').waitFor()
    await page.locator('.webhook summary').press('Enter')
    await page.getByText('Nothing was sent yet.').waitFor()
    await asOwner(daemon, 'POST', '/api/v1/stamp', { content: 'to deliver' })
    await until('a failed delivery', async () => {
      await press(page, 'Read again')
      await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
      return (await page.locator('.webhook td', { hasText: 'nothing answers there' }).count()) > 0
    })
    await page.getByRole('region', { name: `Last deliveries: ${HOSTILE}` }).waitFor()
    await press(page, /^Pause/)
    await page.getByText('paused', { exact: true }).waitFor()
    assert.equal((await hooks())[0]?.state, 'paused')
    await press(page, /^Continue/)
    await page.getByText('active', { exact: true }).waitFor()
    await press(page, /^Remove/)
    await page.getByRole('dialog').waitFor()
    await press(page, 'Remove')
    await page.getByText('There is no webhook yet.').waitFor()
    assert.deepEqual(await hooks(), [])
    await page.context().close()
  })

  await t.test('no page has a fault of accessibility, in both languages', async () => {
    const pages = {
      'en-GB': ['stamps', 'log', 'log/audit', 'tokens', 'tokens/connect', 'tokens/webhooks'],
      'de-DE': ['stamps', 'log/audit', 'tokens/webhooks'],
    }
    for (const [locale, places] of Object.entries(pages)) {
      const page = await browser.open(daemon.address, { scope: 'full', locale })
      for (const place of places) {
        await page.goto(`${daemon.address}/#/${place}`)
        await page.locator('main .card').first().waitFor()
        await assertFaultless(page)
      }
      await page.context().close()
    }
  })
})
