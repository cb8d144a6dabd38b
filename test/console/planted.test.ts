/**
 * Another program used the port before the daemon, and left a page, a cached page or a service
 * worker in the browser. Their origin is that of the console.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test, type TestContext } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { startDaemon } from '../daemon.ts'
import { startBrowser } from '../e2e/chromium.ts'
import { freePort } from '../free-port.ts'
import { skip } from '../pages/browser.ts'
import { until } from '../until.ts'
import { consoleLink } from './console.ts'

/** Header fields with which a browser uses a stored page for every query, without a request. */
const CACHED = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'No-Vary-Search': 'params',
}

/** A page that takes the code from its address, exchanges it for a token, and uses the token. */
const THIEF = `<!doctype html><title>thief</title><h1>Countersign</h1><script>
const b64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
  .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const text = (value) => new TextEncoder().encode(value)
window.steal = async (code) => {
  const key = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])
  const { kty, crv, x } = await crypto.subtle.exportKey('jwk', key.publicKey)
  let nonce
  const send = async (method, path, token, body) => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const ath = token === null ? undefined : b64(await crypto.subtle.digest('SHA-256', text(token)))
      const head = b64(text(JSON.stringify({ alg: 'Ed25519', typ: 'dpop+jwt', jwk: { kty, crv, x } })))
      const claims = { jti: crypto.randomUUID(), htm: method, htu: location.origin + path, iat: Math.floor(Date.now() / 1000), nonce, ath }
      const signed = head + '.' + b64(text(JSON.stringify(claims)))
      const proof = signed + '.' + b64(await crypto.subtle.sign('Ed25519', key.privateKey, text(signed)))
      const answer = await fetch(path, { method, body, headers: { DPoP: proof, ...(body && { 'Content-Type': 'application/json' }), ...(token && { Authorization: 'DPoP ' + token }) } })
      nonce = answer.headers.get('DPoP-Nonce') ?? nonce
      if (answer.status !== 401 || attempt === 1) return answer
    }
  }
  const exchanged = await send('POST', '/console/v1/session', null, JSON.stringify({ code }))
  if (!exchanged.ok) return { exchanged: exchanged.status }
  const { token } = await exchanged.json()
  window.use = async () => (await send('GET', '/api/v1/status', token)).status
  return { exchanged: exchanged.status }
}
</script>`
const WORKER = `addEventListener('install', () => skipWaiting())
addEventListener('activate', (event) => event.waitUntil(clients.claim()))
addEventListener('fetch', (event) => {
  if (event.request.mode === 'navigate' && !event.request.url.includes('native'))
    event.respondWith(new Response(${JSON.stringify(THIEF)}, { headers: { 'Content-Type': 'text/html' } }))
})`

/**
 * Serves the thief on a port while a browser visits it; then a daemon starts on that port.
 * @param headers of the thief's answers
 */
async function planted(
  t: TestContext,
  visit: (page: Page, address: string) => Promise<void>,
  headers: Readonly<Record<string, string>> = {},
) {
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const squatter = createServer(({ url }, res) => {
    const type = url === '/worker.js' ? 'text/javascript' : 'text/html'
    res.writeHead(200, { 'Content-Type': type, ...headers })
    res.end(url === '/worker.js' ? WORKER : THIEF)
  }).listen(port, '127.0.0.1')
  await once(squatter, 'listening')
  const browser = await startBrowser()
  t.after(() => browser.close())
  const context: BrowserContext = await browser.newContext()
  const old = await context.newPage()
  await old.goto(address)
  await visit(old, address)
  squatter.close()
  squatter.closeAllConnections()
  await once(squatter, 'close')
  const daemon = await startDaemon({ SVC_HTTP_PORT: String(port) })
  t.after(() => daemon.close())
  return { daemon, context, old, address }
}

test('a page of another program is still open at the address', { skip }, async (t) => {
  const { context, old, address } = await planted(t, async () => undefined)
  const page = await context.newPage()
  await page.goto(await consoleLink(address))
  await page.locator('nav').waitFor()
  await t.test('it has no token, although it can read the store of keys', async () => {
    const [keys, tokens] = await old.evaluate<[number, number]>(`(async () => {
      const open = indexedDB.open('countersign-console', 1)
      await new Promise((resolve) => open.addEventListener('success', resolve))
      const all = open.result.transaction('keys').objectStore('keys').getAllKeys()
      await new Promise((resolve) => all.addEventListener('success', resolve))
      open.result.close()
      return [all.result.length, sessionStorage.length + localStorage.length + document.cookie.length]
    })()`)
    assert.deepEqual([keys, tokens], [1, 0])
  })
  await t.test('a window that it opens has no session, and it cannot reach into it', async () => {
    const opening = context.waitForEvent('page')
    await old.evaluate(`window.opened = window.open('/')`)
    const opened = await opening
    await opened.locator('main.gate').waitFor()
    await until('the severed window', () => old.evaluate<boolean>(`window.opened.closed`))
  })
  await t.test('a code that it guesses opens nothing', async () => {
    assert.deepEqual(await old.evaluate(`steal('${'A'.repeat(43)}')`), { exchanged: 403 })
  })
})

/** Waits until the daemon has ended the codes and consoles because of the service worker. */
const endOfAll = ({ daemon }: Awaited<ReturnType<typeof planted>>) =>
  until('the end of every console', () =>
    daemon.log.some((line) => line.includes('ended every console')),
  )

/** Opens a console when the browser has removed the service worker. */
async function opensAtLast({ context, address }: Awaited<ReturnType<typeof planted>>) {
  const next = await context.newPage()
  await until('the page of the daemon', async () => {
    await next.goto('about:blank')
    await next.goto(await consoleLink(address))
    return (await next.title()) !== 'thief'
  })
  await next.locator('nav').waitFor()
}

const codeIn = (link: string) => link.split('#k=')[1]!

test('a service worker of another program answers the navigation', { skip }, async (t) => {
  const here = await planted(t, async (page) => {
    await page.evaluate(`navigator.serviceWorker.register('/worker.js')`)
    await page.waitForFunction(`navigator.serviceWorker.controller !== null`)
  })
  const link = await consoleLink(here.address)
  const page = await here.context.newPage()
  await page.goto(link)
  assert.equal(await page.title(), 'thief')
  await t.test('the code opens nothing, because the browser did not ask the daemon', async () => {
    assert.deepEqual(await page.evaluate(`steal('${codeIn(link)}')`), { exchanged: 403 })
  })
  await t.test('a request of the worker for the page does not change that', async () => {
    const other = await consoleLink(here.address)
    await page.goto(other)
    await page.evaluate(`fetch(location.pathname)`)
    assert.deepEqual(await page.evaluate(`steal('${codeIn(other)}')`), { exchanged: 403 })
  })
})

test(
  'a service worker with its script in the cache lets the daemon answer',
  { skip },
  async (t) => {
    const visit = async (page: Page) => {
      await page.evaluate(`fetch('/worker.js').then((answer) => answer.text())`)
      await page.evaluate(
        `navigator.serviceWorker.register('/worker.js', { updateViaCache: 'all' })`,
      )
      await page.waitForFunction(`navigator.serviceWorker.controller !== null`)
    }
    const here = await planted(t, visit, CACHED)
    const { context, address } = here
    const link = await consoleLink(address)
    const page = await context.newPage()
    await page.goto(link)
    assert.equal(await page.title(), 'thief')
    const second = await context.newPage()
    await second.goto(`${link.split('#')[0]}?native`)
    await second.locator('main.gate').waitFor()
    await t.test('its token ends when the browser asks for the script of the worker', async () => {
      const stolen = await page.evaluate<{ exchanged: number }>(`steal('${codeIn(link)}')`)
      await endOfAll(here)
      // The browser can be faster than the thief: then even the code has ended.
      assert([201, 403].includes(stolen.exchanged), String(stolen.exchanged))
      assert.equal(await page.evaluate(`window.use === undefined ? 401 : use()`), 401)
    })
    await t.test('the next console is that of the daemon', () => opensAtLast(here))
  },
)

test('a page of another program is in the cache', { skip }, async (t) => {
  const { context, address, old } = await planted(t, async () => undefined, CACHED)
  await old.close()
  const page = await context.newPage()
  await page.goto(address)
  assert.equal(await page.title(), 'thief')
  await t.test('the link to the console opens the page of the daemon', async () => {
    await page.goto(await consoleLink(address))
    await page.locator('nav').waitFor()
  })
  await t.test('after that, the address does too', async () => {
    const next = await context.newPage()
    await next.goto(address)
    await next.locator('main.gate').waitFor()
  })
})
