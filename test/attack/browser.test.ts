/**
 * A real browser as the attacker: every way of a page to send a request × every target, from
 * pages of other origins, of no origin, of a name that resolves to loopback, and of the daemon’s
 * own origin. No token is created, and nothing of the account is read or changed.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { TestDaemon } from '../daemon.ts'
import { skip } from '../pages/browser.ts'
import { sized } from '../soak/size.ts'
import { type HostilePage, type Stage, holds, openStage } from './browser-stage.ts'
import { type Belongings, type Target, populate } from './browser-targets.ts'
import { OPENED, OPENING, type Verdicts, isOurs, newVerdicts } from './browser-verdicts.ts'

const SCRIPT = readFileSync(join(import.meta.dirname, 'browser-page.js'), 'utf8')

/** The number of targets of each way from each page, beside the first target. */
const EACH = sized(1, 4)

/**
 * Each way is tried from one page of this many; ways that open a frame or a window take longer.
 */
const PAGES = { quick: sized(2, 1), slow: sized(4, 1) }

/** Opens one of this many pages that a link may open. */
const LINKS = sized(6, 1)

type Kind = 'reading' | 'writing'

/** Ways that the browser itself denies to some pages before it sends a request. */
const STOPPED = new Set(['WebTransport', 'a service worker', 'a worker', 'fetch as TRACE'])
const isSlow = (way: string) => OPENING.has(way) || /^a (form|ping)/.test(way)
/** Files that never change under their name, so that the browser may cache them. */
const KEPT = /\.[0-9a-f]{16}\.js$/

/**
 * The routes that show the account’s state to its owner, without values that change with the
 * minute.
 */
const TOLD = [
  'api-tokens',
  'connections',
  'devices',
  'emails',
  'exports',
  'external-members',
  'guest-codes',
  'invitations',
  'open-links',
  'open-links/requests',
  'preferences',
  'tags',
  'verification-log',
]

describe('a browser as the attacker', { skip }, () => {
  let stage: Stage
  let daemon: TestDaemon
  let goods: Belongings & { readonly token: string }
  let was: readonly string[]
  let verdicts: Verdicts
  const stopped = new Set<string>()

  async function settings(): Promise<string[]> {
    const token = daemon.owner()
    const answers: string[] = []
    for (const path of TOLD) {
      const { status, text } = await daemon.request('GET', `/api/v1/${path}`, { token })
      assert.equal(status, 200, path)
      answers.push(`${path}: ${text.replaceAll(/"code":\{[^}]*\}/g, '')}`)
    }
    const files = readdirSync(daemon.stateDir, { recursive: true, encoding: 'utf8' })
    return [
      ...answers,
      ...files.filter((name) => /^(mail|exports|keychain)\b/.test(name)).toSorted(),
    ]
  }

  before(async () => {
    stage = await openStage()
    daemon = stage.daemon
    goods = await populate(daemon)
    verdicts = newVerdicts(goods.secrets)
    was = await settings()
  })
  after(() => stage.close())

  async function attempt(page: HostilePage, kind: Kind, way: string, target: Target) {
    const ours = isOurs(page, target)
    const { count } = verdicts
    count.attempts++
    // A route that validates its query would reject the mark for a reason unrelated to the
    // caller.
    const mark = `${target.path.includes('?') ? '&' : '?'}attack=${count.attempts}`
    const path = ours ? target.path : target.path + mark
    const from = stage.arrivals.length
    const asked = {
      url: page.bases[target.at] + path,
      method: target.method,
      body: target.body,
      // The only page of our own with a token is that of the documentation.
      token: ours ? 'csd_none' : goods.token,
      elsewhere: stage.elsewhere,
    }
    const call = JSON.stringify([kind, way, asked])
    const { read, refusal } = await page.frame.evaluate<{ read: string; refusal: string | null }>(
      `attack(...${call})`,
    )
    const arrived = () =>
      stage.arrivals
        .slice(from)
        .filter(
          ({ req: { url }, res }) => res.writableEnded && (url === path || url === `${path}?`),
        )
    verdicts.judgeRead(read, page, way, target)
    if (refusal !== null && STOPPED.has(way) && arrived().length === 0) {
      count['stopped by the browser']++
      stopped.add(way)
      return
    }
    const isKept = ours && KEPT.test(path) && stage.arrivals.some(({ req }) => req.url === path)
    if (isKept && arrived().length === 0) {
      count['public, as the browser had kept it']++
      return
    }
    assert(await holds(() => arrived().length > 0), `it was never sent: ${refusal}`)
    for (const arrival of arrived()) verdicts.check(arrival, page, way, target)
    const literal = new URL(daemon[target.at]).host
    const isMoved = arrived().some(({ res }) => res.statusCode === 307)
    const isThere = () => arrived().some(({ req }) => req.headers.host === literal)
    assert(!isMoved || (await holds(isThere)), 'nothing was opened at the address')
  }

  /**
   * Returns some of the targets, others at each turn; for writing ways, the token route comes
   * first.
   */
  function some(targets: readonly Target[], kind: Kind, turn: number): Target[] {
    const [mint, ...others] = targets as [Target, ...Target[]]
    const picked = Array.from(
      { length: Math.min(EACH, others.length) },
      (_, i) => others[(turn * EACH + i) % others.length] as Target,
    )
    if (kind === 'reading') return turn % others.length === 0 ? [mint, ...picked] : picked
    return EACH > 1 || turn % 3 === 0 ? [mint, ...picked] : [mint]
  }

  test('every way, from every page: no token, and nothing can be read', async (t) => {
    for (const why of stage.missing) t.diagnostic(`without the page served beside us: ${why}`)
    const ports = [daemon.address, daemon.accountAddress].map((address) => new URL(address).port)
    let turn = 0
    for (const [nth, page] of stage.pages.entries()) {
      await page.frame.evaluate(SCRIPT)
      const ways = await page.frame.evaluate<Record<Kind, string[]>>('ways')
      for (const kind of ['reading', 'writing'] as const)
        for (const [i, way] of ways[kind].entries()) {
          if ((nth + i) % PAGES[isSlow(way) ? 'slow' : 'quick'] !== 0) continue
          // A page of our own origin may send requests that any caller may send.
          const fair = (it: Target) => kind === 'reading' || !(it.isPublic && isOurs(page, it))
          const targets = kind === 'reading' ? goods.reads : goods.writes
          for (const target of some(targets.filter(fair), kind, turn++))
            try {
              await attempt(page, kind, way, target)
            } catch (cause) {
              const { method, path } = target
              throw new Error(`${page.name}: ${way}, ${method} ${path}: ${String(cause)}`, {
                cause,
              })
            }
        }
      const noted = await page.frame.evaluate<number>(`noted(${JSON.stringify(ports)})`)
      if (page.at === null) assert.equal(noted, 0, `${page.name}: sizes or statuses were noted`)
    }
    for (const [what, n] of Object.entries(verdicts.count)) t.diagnostic(`${what}: ${n}`)
    t.diagnostic(`what the browser stops before it is sent: ${[...stopped].join(', ')}`)
  })

  test('pages that links can open stay empty in a frame', async () => {
    const [{ frame: page }] = stage.pages as [HostilePage]
    for (const { at, path } of goods.reads.filter((it) => OPENED.test(it.path))) {
      const from = stage.arrivals.length
      const call = JSON.stringify(['iframe', { src: daemon[at] + path }])
      await page.evaluate(`shown(...${call}).then(() => true)`)
      assert(
        stage.arrivals.slice(from).some(({ req }) => req.url === path),
        path,
      )
      const isEmpty = () =>
        page
          .childFrames()
          .map((it) => it.url())
          .join() === 'chrome-error://chromewebdata/'
      assert(await holds(isEmpty), path)
      await page.evaluate(`document.querySelector('iframe').remove()`)
      assert(await holds(() => page.childFrames().length === 0))
    }
  })

  test('a page opened at localhost redirects to the address, and an older page from there cannot read it', async () => {
    const beside = stage.pages.filter(({ origin }) => origin === 'localhost')
    const profile = (stage.pages[0] as HostilePage).frame.page().context()
    const opened = goods.reads.filter((it) => OPENED.test(it.path))
    for (const { at, path } of opened.filter((_, i) => i % LINKS === 0)) {
      const url = stage.named[at] + path
      const page = await profile.newPage()
      const answer = await page.goto(url)
      assert.equal(page.url(), daemon[at] + path)
      assert.equal(answer?.request().redirectedFrom()?.url(), url)
      await page.close()
      // Its own listener rejects it: the browser treats both as one origin.
      for (const { frame, at: own } of beside) {
        const popup = frame.page().waitForEvent('popup')
        await frame.evaluate(`void (globalThis.other = open(${JSON.stringify(url)}))`)
        const shown = await popup
        const there = own === at ? url : daemon[at] + path
        await shown.waitForURL(there)
        if (own === at) assert.match(await shown.content(), /"origin_not_allowed"/)
        else assert.equal(await frame.evaluate('documentIn(globalThis.other)'), '')
        await shown.close()
      }
    }
  })

  test('a service worker installed before the daemon mints and reads nothing', async () => {
    const from = stage.arrivals.length
    for (const { method, path, body, isPublic } of [...goods.reads, ...goods.writes].filter(
      ({ at }) => at === 'address',
    )) {
      const headers = { 'Content-Type': 'application/json' }
      const init = { method, headers, ...(method === 'GET' ? {} : { body }) }
      const call = JSON.stringify({ url: path, init })
      const read = await stage.withWorker.evaluate<string>(`new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = ({ data }) => resolve(data)
        navigator.serviceWorker.controller.postMessage(${call}, [port2])
      })`)
      for (const secret of goods.secrets) assert(!read.includes(secret), read)
      if (path === '/api/v1/token') assert.match(read, /^403\n.*"origin_not_allowed"/)
      else if (!isPublic) assert.match(read, /^40[134]\n\{"error":/, path)
      assert.equal(
        stage.arrivals.slice(from).filter(({ req }) => req.url === path).length > 0,
        true,
      )
    }
  })

  test('the browser removes that worker as soon as it requests its script', async () => {
    const { withWorker: page, arrivals } = stage
    await page.goto(`${daemon.address}/planted`)
    assert.equal(await page.title(), 'planted', 'it still answers in place of the daemon')
    await page.evaluate(`navigator.serviceWorker.getRegistration()
      .then((it) => it?.update()).catch(() => undefined)`)
    await page.waitForFunction(
      `navigator.serviceWorker.getRegistrations().then((all) => all.length === 0)`,
    )
    const asked = arrivals.findLast(({ req }) => req.url === '/worker.js')
    assert.equal(asked?.req.headers['service-worker'], 'script')
    assert.equal(asked?.res.statusCode, 403)
    const answer = await page.goto(`${daemon.address}/planted`)
    assert.deepEqual([answer?.status(), answer?.fromServiceWorker()], [401, false])
  })

  test('no token was made, and nothing changed', async (t) => {
    const now = await settings()
    assert.deepEqual(now, was)
    const tokens = (all: readonly string[]) => (all[0]?.match(/"tok_/g) ?? []).length
    t.diagnostic(`tokens: ${tokens(was)} before, ${tokens(now)} after`)
  })
})
