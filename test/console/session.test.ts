/** The session of the console in a browser: how it begins, what it survives, and what ends it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { startDaemon } from '../daemon.ts'
import { freePort } from '../free-port.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { skip } from '../pages/browser.ts'
import { consoleBrowser, consoleLink } from './console.ts'

const isLocked = (page: Page, text: RegExp) =>
  page.locator('main.gate p', { hasText: text }).waitFor()
const isOpen = (page: Page) => page.locator('nav').waitFor()

test('the session of a console', { skip }, async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const { address } = daemon
  const token = await daemon.token('full')
  const call = async (method: string, path: string, body?: unknown) =>
    (await daemon.request(method, path, { token, body })).json as Record<string, unknown>
  const consoles = async () => {
    const { items } = await call('GET', '/api/v1/api-tokens')
    return (items as { id: string; state: string; bound: boolean; name: string }[]).filter(
      (one) => one.bound,
    )
  }
  const browser = await consoleBrowser(t)

  await t.test('the code leaves the address, the history and the referrer', async () => {
    const page = await browser.open(address)
    assert.equal(page.url(), `${address}/`)
    const referrers: string[] = []
    page.on('request', (request) => {
      const { referer } = request.headers()
      if (referer !== undefined && referer !== '') referrers.push(referer)
    })
    await page.goto(`${address}/#/people`)
    await page.goBack()
    assert.equal(new URL(page.url()).hash, '')
    assert.deepEqual(referrers, [])
    await page.context().close()
  })

  await t.test('a reload keeps the session, and a second tab has none', async () => {
    const page = await browser.open(address)
    await page.reload()
    await isOpen(page)
    const second = await page.context().newPage()
    await second.goto(address)
    await isLocked(second, /run this command in a terminal/)
    await page.context().close()
  })

  await t.test('a page that is loaded late does not replace the one chosen since', async () => {
    const page = await browser.open(address, { at: '#/devices' })
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/console/call-page.*', async (route) => {
      await isReleased
      return route.continue()
    })
    const loading = page.waitForRequest('**/console/call-page.*')
    await page.goto(`${address}/`)
    await loading
    await page.goto(`${address}/#/devices`)
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
    const loaded = page.waitForResponse('**/console/call-page.*')
    release()
    await (await loaded).finished()
    // The module is in the browser: its import is resolved before this one.
    await page.evaluate(`import('/console/' + performance.getEntriesByType('resource')
      .map(({ name }) => name).find((name) => name.includes('call-page')).split('/').at(-1))`)
    assert.equal(await page.locator('h1').innerText(), 'Devices')
    await page.context().close()
  })

  await t.test('a used code opens nothing', async () => {
    const link = await consoleLink(address)
    const first = await browser.open(address)
    const { length: before } = await consoles()
    await first.goto(link)
    await isOpen(first)
    const second = await first.context().newPage()
    await second.goto(link)
    await isLocked(second, /was used or has expired/)
    assert.equal((await consoles()).length, before + 1)
    await first.context().close()
  })

  await t.test('two consoles work at once, and each shows what the other changes', async () => {
    const [one, two] = [
      await browser.open(address),
      await browser.open(address, { at: '#/call/out' }),
    ]
    await two.locator('main .card').waitFor()
    await call('POST', '/api/v1/guest-codes', { label: 'Mum' })
    await two.locator('.callee', { hasText: 'Mum' }).waitFor()
    await one.goto(`${address}/#/call/out`)
    await one.locator('.callee', { hasText: 'Mum' }).waitFor()
    await Promise.all([one.context().close(), two.context().close()])
  })

  await t.test(
    'lists are read after the stream of events is open, so that no event is missed',
    async () => {
      const page = await browser.open(address)
      const first = page.waitForResponse('**/api/v1/verification-log*')
      await page.goto(`${address}/#/log`)
      await (await first).finished()
      const asked: string[] = []
      const opening = Promise.withResolvers<void>()
      await page.route('**/api/v1/**', async (route) => {
        const path = new URL(route.request().url()).pathname
        asked.push(path)
        if (path === '/api/v1/events') await opening.promise
        await route.continue()
      })
      const streams = page.waitForRequest('**/api/v1/events*')
      await page.reload()
      await streams
      await page.locator('main h1').waitFor()
      assert.deepEqual(asked, ['/api/v1/events'])
      const reading = page.waitForResponse('**/api/v1/verification-log*')
      opening.resolve()
      await reading
      await page.context().close()
    },
  )

  await t.test('a token revoked under it ends it at once', async () => {
    const page = await browser.open(address)
    const [newest] = await consoles()
    await call('DELETE', `/api/v1/api-tokens/${newest!.id}`)
    await isLocked(page, /expired or was revoked/)
    await page.reload()
    await isLocked(page, /run this command in a terminal/)
    await page.context().close()
  })

  await t.test('the button Lock revokes the token and deletes the key', async () => {
    const page = await browser.open(address)
    await page.getByRole('button', { name: 'Lock' }).press('Enter')
    await isLocked(page, /To continue, run this command/)
    await page.getByRole('heading', { level: 1, name: 'Locked' }).waitFor()
    assert.equal((await consoles())[0]!.state, 'revoked')
    const kept = await page.evaluate(`(async () => {
      const open = indexedDB.open('countersign-console', 1)
      await new Promise((resolve) => open.addEventListener('success', resolve))
      const all = open.result.transaction('keys').objectStore('keys').getAllKeys()
      await new Promise((resolve) => all.addEventListener('success', resolve))
      return [all.result.length, sessionStorage.length]
    })()`)
    assert.deepEqual(kept, [0, 0])
    await page.context().close()
  })

  await t.test('a token without the key of the browser is worth nothing', async () => {
    const page = await browser.open(address)
    const stored = await page.evaluate<string>(`sessionStorage.getItem('countersign-session')`)
    const stolen = (JSON.parse(stored) as { token: string }).token
    for (const scheme of ['Bearer', 'DPoP'])
      assert.equal(
        (
          await daemon.request('GET', '/api/v1/status', {
            headers: { Authorization: `${scheme} ${stolen}` },
          })
        ).status,
        401,
      )
    const exported = await page.evaluate(`(async () => {
      const open = indexedDB.open('countersign-console', 1)
      await new Promise((resolve) => open.addEventListener('success', resolve))
      const all = open.result.transaction('keys').objectStore('keys').getAll()
      await new Promise((resolve) => all.addEventListener('success', resolve))
      const { privateKey } = all.result.at(-1)
      return crypto.subtle.exportKey('pkcs8', privateKey).then(() => true, () => false)
    })()`)
    assert.equal(exported, false)
    await page.context().close()
  })

  await t.test('a browser that cannot make the key names the reason', async () => {
    const first = await browser.open(address)
    const page = await first.context().newPage()
    await page.addInitScript(`crypto.subtle.generateKey = () => Promise.reject(new Error())`)
    await page.goto(await consoleLink(address))
    await isLocked(page, /too old/)
    await first.context().close()
  })

  await t.test('no script may be made from text, and nothing may be framed', async () => {
    const { headers } = await daemon.request('GET', '/', { headers: { Accept: 'text/html' } })
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /require-trusted-types-for 'script'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe/)
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['set-cookie'], undefined)
  })
})

test('a daemon that restarts under an open console', { skip }, async (t) => {
  const env = {
    SVC_STATE_DIR: freshFolder(t),
    SVC_HTTP_PORT: String(await freePort()),
    SVC_ACCOUNT_PORT: String(await freePort()),
  }
  const first = await startDaemon(env)
  const browser = await consoleBrowser(t)
  const page = await browser.open(first.address, { at: '#/health' })
  await page.locator('.badge[data-kind=ok]', { hasText: 'answers' }).waitFor()
  await first.close()
  await page.locator('.away .notice', { hasText: 'The daemon does not answer' }).waitFor()
  await page
    .locator('.badge', { hasText: /^unknown since / })
    .first()
    .waitFor()
  assert.equal(await page.locator('.badge[data-kind]').count(), 0)
  const second = await startDaemon(env)
  t.after(() => second.close())
  await page.locator('.away .notice').waitFor({ state: 'detached' })
  await page.locator('.badge[data-kind=ok]', { hasText: 'answers' }).waitFor()
  await page.goto(`${second.address}/#/call/out`)
  const token = await second.token('write')
  await second.request('POST', '/api/v1/guest-codes', { token, body: { label: 'Dad' } })
  await page.locator('.callee', { hasText: 'Dad' }).waitFor()
})
