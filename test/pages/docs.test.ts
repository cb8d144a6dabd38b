/**
 * The documentation page in Chromium, as a daemon serves it: reading, searching, and a request
 * with a token, which is sent to the daemon alone and stored nowhere. `UPDATE_SCREENSHOTS=1 node
 * --test test/pages/docs.test.ts` rewrites its picture in docs/.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { rest } from '../../src/api/rest/index.ts'
import type { Content } from '../../src/api/route.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { CODES } from '../../src/errors.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { startBrowser } from '../e2e/chromium.ts'
import { ROOT } from '../e2e/program.ts'
import { type Visitor, assertAccessible, assertFits, onDemand, skip, visitor } from './browser.ts'

const DOCS = '/api/v1/docs'
/** The reference, at its beginning. */
const REFERENCE = `${DOCS}#description/introduction`

let daemon: TestDaemon
before(async () => {
  daemon = await startDaemon()
})
after(() => daemon.close())

/** Returns all data that a browser stores for the page’s origin, as text. */
const KEPT = `(async () => {
  const stores = async ({ name }) => {
    const open = indexedDB.open(name)
    await new Promise((resolve) => open.addEventListener('success', resolve))
    const all = [...open.result.objectStoreNames].map((store) => {
      const got = open.result.transaction(store).objectStore(store).getAll()
      return new Promise((resolve) => got.addEventListener('success', () => resolve(got.result)))
    })
    return Promise.all(all)
  }
  return JSON.stringify([
    { ...localStorage },
    { ...sessionStorage },
    document.cookie,
    history.state,
    location.href,
    window.name,
    await caches.keys(),
    await Promise.all((await indexedDB.databases()).map(stores)),
  ])
})()`

describe('the documentation page', { skip }, () => {
  let visit: Visitor
  /** The origins to which the pages sent requests. */
  const asked = new Set<string>()
  before(async () => {
    visit = await visitor()
  })
  after(() => visit.close())

  /** Opens the list of routes. */
  async function openList(): Promise<Page> {
    const page = await visit.open('about:blank', null)
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    await page.goto(daemon.address + DOCS)
    return page
  }

  /** Opens the reference of a daemon, and waits until it is ready. */
  async function opened(origin = daemon.address): Promise<Page> {
    const page = await visit.open('about:blank', null)
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(origin + REFERENCE)
    await page.getByRole('heading', { name: 'Countersign', exact: true }).waitFor()
    return page
  }

  /** Searches for an operation by its words, and opens it. */
  async function find(page: Page, words: string, option: RegExp): Promise<void> {
    // A key is lost until the library listens; its button is there when it does.
    await page
      .getByRole('button', { name: /search/i })
      .first()
      .click()
    await page.getByRole('combobox').first().fill(words)
    await page.getByRole('option', { name: option }).first().click()
  }

  /** Opens the client for a visible operation, and sends the request. */
  async function send(page: Page, operation: string): Promise<void> {
    await page
      .locator('button', { hasText: `Test Request(${operation})` })
      .first()
      .click()
    await page.getByRole('button', { name: /^Send Request/ }).click()
  }

  /** Closes the client with its answer. */
  async function closeClient(page: Page): Promise<void> {
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  }

  const quiet = () => {
    assert.deepEqual(visit.messages, [])
    const elsewhere = [...asked].filter(
      (origin) => !/^http:\/\/(127\.0\.0\.1|localhost):/.test(origin),
    )
    assert.deepEqual(elsewhere, [])
  }

  test('an operation can be found and tried with a token, which is not stored', async () => {
    const token = await daemon.token('write')
    await daemon.request('POST', '/api/v1/tags', {
      token,
      body: { name: 'Family', color: '#2453b8' },
    })
    await using page = await opened()
    await page.getByPlaceholder('Token').fill(token)
    await find(page, 'list tags', /List tags/)
    const answer = page.waitForResponse((it) =>
      it.url().startsWith(`${daemon.address}/api/v1/tags`),
    )
    await send(page, 'get /api/v1/tags')
    assert.equal((await answer).status(), 200)
    await page.getByRole('dialog').getByText('Family').waitFor()
    assert(!(await page.evaluate<string>(KEPT)).includes(token))
    await page.reload()
    await page.getByPlaceholder('Token').waitFor()
    assert.equal(await page.getByPlaceholder('Token').inputValue(), '')
    assert(!(await page.evaluate<string>(KEPT)).includes(token))
    quiet()
  })

  test('without a token, and at routes closed to browsers, it shows the daemon’s error', async () => {
    await using page = await opened()
    await find(page, 'list tags', /List tags/)
    await send(page, 'get /api/v1/tags')
    await page.getByRole('dialog').getByText('unauthorized').first().waitFor()
    await closeClient(page)
    await find(page, 'create an api token from this machine', /from this machine/)
    await send(page, 'post /api/v1/token')
    await page.getByRole('dialog').getByText('origin_not_allowed').first().waitFor()
    quiet()
  })

  test('shows an answer that is an image, and a page as text', async () => {
    const token = await daemon.token('write')
    const { json } = await daemon.request('POST', '/api/v1/guest-codes', {
      token,
      body: { label: 'Plumber' },
    })
    await using page = await opened()
    await page.getByPlaceholder('Token').fill(token)
    await find(page, 'qr image', /QR image/)
    await page
      .locator('button', { hasText: 'Test Request(get /api/v1/guest-codes/{id}/qr)' })
      .first()
      .click()
    await page.getByRole('dialog').locator('[contenteditable][aria-label$=Value]').first().click()
    // Replaces the example.
    await page.keyboard.press('Control+a')
    await page.keyboard.type((json as { id: string }).id)
    await page.keyboard.press('Control+Enter')
    const image = '[role=dialog] img[src^="blob:"]'
    await page.waitForSelector(image)
    // Fails for data that is not an image.
    await page.evaluate(`document.querySelector('${image}').decode()`)
    await closeClient(page)
    await find(page, 'documentation page', /documentation page/)
    await send(page, 'get /api/v1/docs')
    await page.getByRole('dialog').getByText('<!doctype html>').first().waitFor()
    quiet()
  })

  test('has no serious problem when it opens, and explains every error, found by its code', async () => {
    await using page = await opened()
    // The library's button has a visible text that its accessible name does not contain.
    await assertAccessible(page, '.show-more')
    const text = (await page.locator('#reference').textContent()) ?? ''
    for (const code of CODES) assert(text.includes(`${code} (`), code)
    await find(page, 'secret_unavailable', /secret_unavailable \(409\)/)
    await page.getByRole('heading', { name: 'secret_unavailable (409)' }).waitFor()
    quiet()
  })

  test('opened as localhost, it moves to the address, and without scripts lists every route', async () => {
    const own = await startBrowser()
    try {
      const context = await own.newContext({ javaScriptEnabled: false })
      const page = await context.newPage()
      await page.goto(daemon.address.replace('127.0.0.1', 'localhost') + DOCS)
      assert.equal(new URL(page.url()).origin, daemon.address)
      const text = (await page.locator('main').textContent()) ?? ''
      for (const { route } of rowsOf(rest)) assert(text.includes(route.path), route.path)
      await assertFits(page)
    } finally {
      await own.close()
    }
  })

  test('shows the routes at once, first what a call needs, and loads no library', async () => {
    await using page = await openList()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.reload()
    await page.getByRole('cell', { name: 'POST /api/v1/stamp', exact: true }).waitFor()
    assert.deepEqual((await page.locator('h2').allInnerTexts()).slice(0, 3), [
      'Verify a caller',
      'Verify',
      'Guest codes',
    ])
    assert(!requests.some((url) => url.includes('reference')))
    await assertFits(page)
    await assertAccessible(page)
    quiet()
  })

  test('a route leads to its place in the reference, and back leads to the list', async () => {
    await using page = await openList()
    await page.getByRole('link', { name: 'POST /api/v1/guest-codes', exact: true }).click()
    await page.getByRole('heading', { name: 'Create a guest code', exact: true }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Countersign API' }).count(), 0)
    await page.goBack()
    await page.getByRole('heading', { name: 'Countersign API' }).waitFor()
    quiet()
  })

  test('a group of the list is no reason to show the reference', async () => {
    await using page = await openList()
    await page.getByRole('link', { name: 'Stamp', exact: true }).click()
    assert.match(page.url(), /#routes-stamp$/)
    assert(await page.getByRole('heading', { name: 'Countersign API' }).isVisible())
    quiet()
  })

  test('says that the library cannot be loaded', async () => {
    await using page = await openList()
    await page.route('**/reference.*', (route) => route.abort())
    await page.getByRole('link', { name: 'Try the routes here' }).click()
    await page.getByText('The reference cannot be loaded. Reload the page.').waitFor()
    assert(await page.getByRole('heading', { name: 'Countersign API' }).isVisible())
    visit.messages.length = 0
  })

  test('makes its screenshot', onDemand, async () => {
    await using shown = {
      daemon: await startDaemon({ SVC_HTTP_PORT: '19821' }),
      [Symbol.asyncDispose]: () => shown.daemon.close(),
    }
    await using page = await visit.open(shown.daemon.address + DOCS, null)
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.screenshot({ path: join(ROOT, 'docs/docs-page.png'), animations: 'disabled' })
  })
})

describe('the files of the documentation page', () => {
  const pathsIn = (page: string) =>
    [
      ...page.matchAll(
        /(?:src|href|data-reference)="([^"]+)"\s+(?:data-)?integrity="sha256-([^"]+)"/g,
      ),
    ].map(([, path = '', digest = '']) => ({ path, digest }))
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64')
  const get = (path: string, coding: string) =>
    fetch(daemon.address + path, { headers: { 'Accept-Encoding': coding } })

  test('match the page’s digests, and are cached forever', async () => {
    const { text } = await daemon.request('GET', DOCS)
    const files = pathsIn(text)
    assert.equal(files.length, 3)
    for (const { path, digest } of files)
      for (const coding of ['gzip', 'br, gzip;q=0.5', 'identity', 'gzip;q=0']) {
        const answer = await get(path, coding)
        assert.equal(answer.status, 200, path)
        assert.equal(
          sha256(new Uint8Array(await answer.arrayBuffer())),
          digest,
          `${path} ${coding}`,
        )
        assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
        const large = path.includes('reference')
        const takes = coding === 'gzip' || coding.startsWith('br')
        assert.equal(answer.headers.get('content-encoding'), large && takes ? 'gzip' : null, coding)
      }
  })

  test('are the only ones: another name is 404 and not cached', async () => {
    for (const name of ['start.0000000000000000.js', 'docs.js', 'index.ts']) {
      const { status, headers, json } = await daemon.request('GET', `${DOCS}/${name}`)
      assert.deepEqual([status, (json as { error: string }).error], [404, 'not_found'], name)
      assert.equal(headers['cache-control'], 'no-store')
    }
  })

  test('the page forbids unneeded sources, and is not cached', async () => {
    const { headers } = await daemon.request('GET', DOCS)
    const policy = headers['content-security-policy'] as string
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ])
      assert(policy.split('; ').includes(part), part)
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['referrer-policy'], 'no-referrer')
  })

  test('if they were not built, the page reports that, with the list', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-unbuilt-'))
    try {
      for (const name of ['src', 'package.json'])
        cpSync(join(ROOT, name), join(folder, name), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      const { docs } = (await import(join(folder, 'src/handlers/docs/documents.ts'))) as {
        docs: { read(input: unknown, of: { header: () => undefined }): Promise<Content> }
      }
      const page = (await docs.read({}, { header: () => undefined })).body as string
      assert.match(page, /not built\..*npm run build/s)
      assert(page.includes('/api/v1/connections/{id}/code'))
      assert(!page.includes('<script'))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
