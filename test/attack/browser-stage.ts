/**
 * Opens a browser at pages of attackers, and starts a daemon within their reach: from other
 * origins, from a name that resolves to loopback, and from pages served at the daemon’s own
 * origin by a process that had its port first or has it on `[::1]`.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { BrowserContext, Frame, Page } from 'playwright-core'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { startBrowser } from '../e2e/chromium.ts'
import type { Listener } from '../http/guarding.ts'
import { type Attacker, startAttacker } from './browser-attacker.ts'

/** A name of the attacker that resolves to this machine, as after DNS rebinding. */
const EVIL = 'evil.example'

/** Why no process can squat on `[::1]`, or null. */
const noIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((it) => it?.address === '::1')
  ? null
  : 'this machine has no ::1'

export interface HostilePage {
  readonly name: string
  /** The frame that runs the page’s scripts. */
  readonly frame: Frame
  /**
   * The listener with the port of the page’s address, by which the page calls it; null if there
   * is none.
   */
  readonly at: Listener | null
  /** The address of each listener as this page calls it. */
  readonly bases: Readonly<Record<Listener, string>>
  /**
   * The page’s origin: the daemon’s; that of the daemon’s other name, where it has no page; or
   * neither.
   */
  readonly origin: 'ours' | 'localhost' | 'another'
}

/** A request that reached the daemon. */
export interface Arrival {
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

/** Records all requests to two ports of 127.0.0.1. */
function recorder(ports: readonly number[]) {
  const arrivals: Arrival[] = []
  const note = (message: unknown) => {
    const { request: req, response: res } = message as {
      request: IncomingMessage
      response: ServerResponse
    }
    const { localAddress, localPort = 0 } = req.socket
    if (localAddress === '127.0.0.1' && ports.includes(localPort)) arrivals.push({ req, res })
  }
  subscribe('http.server.request.start', note)
  return { arrivals, stop: () => unsubscribe('http.server.request.start', note) }
}

async function opened(profile: BrowserContext, url: string): Promise<Page> {
  const page = await profile.newPage()
  await page.goto(url)
  if ((await page.title()) !== 'attacker') throw new Error(`${url} is not the attacker's`)
  return page
}

async function planted(page: Page): Promise<void> {
  await page.evaluate(
    `navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => true)`,
  )
}

export interface Stage {
  readonly daemon: TestDaemon
  readonly pages: readonly HostilePage[]
  /** A page of the daemon’s own origin, with a planted service worker. */
  readonly withWorker: Page
  /** Both listeners by the name `localhost`. */
  readonly named: Readonly<Record<Listener, string>>
  /** All requests that reached the daemon. */
  readonly arrivals: readonly Arrival[]
  readonly elsewhere: string
  /** Why pages are missing. */
  readonly missing: readonly string[]
  close(): Promise<void>
}

/**
 * Opens the pages, starts the daemon at the address of two of them, and opens the page served
 * beside it.
 */
export async function openStage(): Promise<Stage> {
  const closers: (() => unknown)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    return await opening(closers, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function opening(closers: (() => unknown)[], close: () => Promise<void>): Promise<Stage> {
  const attacker = async (host: string, port?: number): Promise<Attacker> => {
    const started = await startAttacker(host, port)
    closers.push(() => started.leave())
    return started
  }
  const [mine, first, second] = [
    await attacker('127.0.0.1'),
    await attacker('127.0.0.1'),
    await attacker('127.0.0.1'),
  ]
  const browser = await startBrowser(`--host-resolver-rules=MAP ${EVIL} 127.0.0.1`)
  closers.push(() => browser.close())
  const profile = await browser.newContext()
  const at = (name: string, { port }: Attacker) => `http://${name}:${port}`
  const literal = { address: at('127.0.0.1', first), accountAddress: at('127.0.0.1', second) }
  const named = { address: at('localhost', first), accountAddress: at('localhost', second) }
  const other = { at: null, origin: 'another' } as const
  const pages: HostilePage[] = []
  for (const [name, bases] of [
    [EVIL, literal],
    ['localhost', named],
    ['127.0.0.1', literal],
  ] as const) {
    const page = await opened(profile, at(name, mine))
    pages.push({ ...other, name: `${name}, another port`, frame: page.mainFrame(), bases })
  }
  const [, sandboxed, data] = (await opened(profile, `${at(EVIL, mine)}/frames`)).frames()
  for (const [name, frame] of [
    ['a sandboxed frame', sandboxed],
    ['a data: frame', data],
  ] as const) {
    if (frame === undefined) throw new Error(`${name} is missing`)
    pages.push({ ...other, name, frame, bases: literal })
  }
  for (const [listener, squatter] of [
    ['address', first],
    ['accountAddress', second],
  ] as const)
    for (const [name, origin] of [
      [EVIL, 'another'],
      ['127.0.0.1', 'ours'],
    ] as const) {
      const base = at(name, squatter)
      const frame = (await opened(profile, base)).mainFrame()
      const title = `${name}, our ${origin === 'ours' ? 'origin' : 'port'}, ${listener}`
      pages.push({
        name: title,
        frame,
        at: listener,
        bases: { ...literal, [listener]: base },
        origin,
      })
    }
  // In a profile of its own: the worker would claim the other pages of its origin.
  const withWorker = await opened(await browser.newContext(), literal.address)
  await planted(withWorker)

  await Promise.all([first.leave(), second.leave()])
  const { arrivals, stop } = recorder([first.port, second.port])
  closers.push(stop)
  const daemon = await startDaemon({
    SVC_HTTP_PORT: String(first.port),
    SVC_ACCOUNT_PORT: String(second.port),
  })
  closers.push(() => daemon.close())

  for (const [listener, { port }] of noIpv6 === null
    ? ([
        ['address', first],
        ['accountAddress', second],
      ] as const)
    : []) {
    const beside = await attacker('::1', port)
    const frame = (await opened(profile, named[listener])).mainFrame()
    if (!beside.requests.includes(`GET localhost:${port} /`))
      throw new Error('the page did not come from the squatter')
    await beside.leave()
    const name = `localhost, served from [::1], ${listener}`
    pages.push({ name, frame, at: listener, bases: named, origin: 'localhost' })
  }
  return {
    daemon,
    pages,
    withWorker,
    named,
    arrivals,
    elsewhere: at('127.0.0.1', mine),
    missing: noIpv6 === null ? [] : [noIpv6],
    close,
  }
}

/** Waits until a condition holds; false after five seconds. */
export async function holds(what: () => boolean): Promise<boolean> {
  for (const deadline = performance.now() + 5_000; !what(); await setImmediate())
    if (performance.now() > deadline) return false
  return true
}
