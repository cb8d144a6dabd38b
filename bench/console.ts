/**
 * Measures the console in Chromium: bytes, first paint, the first control that can be used, a check
 * of words, and frames of a list of 10,000 connections beside those of an empty page.
 *
 *   npm run bench:console
 */
import { gzipSync } from 'node:zlib'
import { readdirSync, readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { consoleBrowser } from '../test/console/console.ts'
import { startDaemon } from '../test/daemon.ts'
import { median, quantile, say } from './figures.ts'

const OPENINGS = 15
const CHECKS = 20
const CONNECTIONS = 10_000
const AT_ONCE = 20

const closers: (() => unknown)[] = []
/** Collects what must be closed, as a test does. */
const t = { after: (close: () => unknown) => closers.push(close) } as unknown as TestContext

const daemon = await startDaemon()
closers.push(() => daemon.close())
const token = await daemon.token('full')
const browser = await consoleBrowser(t)

const report = (measure: string, ...values: number[]): unknown =>
  say(`${measure.padEnd(52)}${values.map((one) => one.toFixed(one < 100 ? 1 : 0)).join('  ')}`)

/** Returns the sum of the compressed sizes of files, in bytes. */
const sizeOf = (urls: readonly string[]): number =>
  urls.reduce((sum, url) => {
    const name = url.split('/').at(-1)!
    return sum + readFileSync(`dist/console/${name}.gz`).length
  }, 0)

/** Opens the console for a call. Returns its times since the navigation began, in milliseconds. */
async function opening(): Promise<{ paint: number; usable: number; page: Page }> {
  const page = await browser.open(daemon.address)
  await page.locator('.choices :focus').waitFor()
  const usable = await page.evaluate<number>('performance.now()')
  const paint = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
  )
  return { paint, usable, page }
}

async function openings(): Promise<void> {
  const times: { paint: number; usable: number }[] = []
  for (let i = 0; i < OPENINGS; i++) {
    const { page, ...one } = await opening()
    times.push(one)
    if (i === 0) {
      const urls = await page.evaluate<string[]>(
        `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => /\\.(js|css)$/.test(name))`,
      )
      const index = gzipSync(readFileSync('dist/console/index.html')).length
      report('call page, gzip bytes', sizeOf(urls) + index, urls.length + 1)
      const all = readdirSync('dist/console').filter((name) => name.endsWith('.gz'))
      report('all of the console, gzip bytes', sizeOf(all.map((one) => one.slice(0, -3))))
    }
    await page.context().close()
  }
  report('first paint, ms', median(times.map(({ paint }) => paint)))
  report('usable by keyboard, ms', median(times.map(({ usable }) => usable)))
}

async function checks(): Promise<void> {
  const page = await browser.open(daemon.address, { at: '#/call/in' })
  const input = page.locator('.words-field input').first()
  const times: number[] = []
  for (let i = 0; i < CHECKS; i++) {
    await input.focus()
    await page.keyboard.type('matador carload recede')
    const before = await page.evaluate<number>('performance.now()')
    await page.keyboard.press('Enter')
    await page.locator('.verdict').waitFor()
    times.push((await page.evaluate<number>('performance.now()')) - before)
    await page.evaluate(`document.querySelector('.verdict')?.remove()`)
  }
  report('check of words in the page, ms', median(times))
  await page.context().close()
}

/** Scrolls down a page in steps of one frame each. Returns the time of each frame. */
const scrolled = (page: Page): Promise<number[]> =>
  page.evaluate<number[]>(`new Promise((resolve) => {
    const times = []
    let last = performance.now()
    const step = () => {
      const now = performance.now()
      times.push(now - last)
      last = now
      scrollBy(0, 900)
      if (times.length < 240) requestAnimationFrame(step)
      else resolve(times)
    }
    requestAnimationFrame(step)
  })`)

const p95 = (values: readonly number[]) => quantile(values, 0.95)

async function frames(): Promise<void> {
  for (let done = 0; done < CONNECTIONS; done += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) =>
        daemon.request('POST', '/api/v1/connections', {
          token,
          body: { name: `Connection ${done + i}` },
        }),
      ),
    )
  const page = await browser.open(daemon.address, { at: '#/people' })
  const began = performance.now()
  await page.locator('.rows li').first().waitFor()
  report('10,000 connections: shown after, ms', performance.now() - began)
  const list = await scrolled(page)
  const search = page.locator('input[type=search]').first()
  await search.focus()
  const typed: number[] = []
  for (const letter of 'connection 77') {
    typed.push(
      await page.evaluate<number>(`new Promise((resolve) => {
        const input = document.querySelector('input[type=search]')
        const before = performance.now()
        input.value += ${JSON.stringify(letter)}
        input.dispatchEvent(new Event('input', { bubbles: true }))
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - before)))
      })`),
    )
  }
  const empty = await page.context().newPage()
  await empty.setContent('<div style="height: 600000px"></div>')
  const bare = await scrolled(empty)
  report('scroll, frame p50 and p95, ms', median(list), p95(list))
  report('scroll of an empty page, frame p50 and p95, ms', median(bare), p95(bare))
  report('a letter of the search until the next frame, ms', median(typed), Math.max(...typed))
}

try {
  await openings()
  await checks()
  await frames()
} finally {
  for (const close of closers.toReversed()) await close()
}
