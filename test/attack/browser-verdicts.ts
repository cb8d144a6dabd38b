/**
 * Judges the requests of a hostile page: the answers that the daemon may give, and the parts that
 * the page may read. Counts all of them.
 */
import assert from 'node:assert/strict'
import type { Arrival, HostilePage } from './browser-stage.ts'
import type { Target } from './browser-targets.ts'

const FRAMING = ['a frame', 'an object', 'an embedded page']
/** Ways that open a page instead of reading it, as links of other sites may. */
export const OPENING: ReadonlySet<string> = new Set([...FRAMING, 'a window', 'a form that asks'])
/** Paths that a link may open. */
export const OPENED = /^\/(?:api\/v1\/docs|(?:g|s|o|confirm|exports)\/[\w-]+)(?:\?|$)/

const REFUSAL = /\{"error":"(\w+)","message":"/

/** Returns whether a page may send requests there like a page of the daemon without a token. */
export const isOurs = (page: HostilePage, { at }: Target): boolean =>
  page.origin === 'ours' && page.at === at

const newCount = () => ({
  attempts: 0,
  refused: 0,
  'opened, unread': 0,
  'moved to where our pages are': 0,
  'public, to our own origin': 0,
  'public, as the browser had kept it': 0,
  'stopped by the browser': 0,
  'bytes read by other origins': 0,
  'bytes of refusals read at our port': 0,
  'bytes of public answers read by a page that had our address first': 0,
  'bytes read by a page at a squatted [::1]': 0,
  'bytes of refusals read by a page at a squatted [::1]': 0,
})

export interface Verdicts {
  /** Counts of the outcomes; the test prints them. */
  readonly count: ReturnType<typeof newCount>
  /**
   * Fails if the daemon did not reject the request, except for pages that a link may open at
   * their own address.
   */
  check(arrival: Arrival, page: HostilePage, way: string, target: Target): void
  /** Fails if a page could read content that it may not. */
  judgeRead(read: string, page: HostilePage, way: string, target: Target): void
}

/**
 * Creates the verdicts with their counts.
 * @param secrets the texts that no page may ever read
 */
export function newVerdicts(secrets: readonly string[]): Verdicts {
  const count = newCount()
  return {
    count,
    check({ req, res }, page, way, target) {
      const opens = page.at !== target.at && OPENING.has(way) && OPENED.test(target.path)
      if (opens && req.method === 'GET') {
        const isMoved = req.headers.host?.startsWith('localhost') === true
        if (isMoved) assert.equal(res.statusCode, 307)
        count[isMoved ? 'moved to where our pages are' : 'opened, unread']++
      } else if (isOurs(page, target) && target.isPublic && res.statusCode < 400)
        count['public, to our own origin']++
      else {
        const allowed = isOurs(page, target) ? [400, 401, 403, 404, 405, 406, 422] : [403]
        assert(allowed.includes(res.statusCode), `${req.method} was answered ${res.statusCode}`)
        count.refused++
      }
    },
    judgeRead(read, page, way, target) {
      for (const secret of secrets) assert(!read.includes(secret), read)
      if (page.at !== target.at) {
        count['bytes read by other origins'] += read.length
        assert.equal(read, '')
      }
      if (FRAMING.includes(way)) assert.equal(read, '', 'a frame stays empty')
      if (read === '') return
      const isBeside = page.origin === 'localhost'
      if (REFUSAL.test(read) || /^4\d\d\n/.test(read)) {
        if (isBeside) assert.match(read, /^403\n|"origin_not_allowed"/)
        if (page.origin === 'another') assert.match(read, /^403\n|"host_not_allowed"/)
        const where = isBeside ? 'by a page at a squatted [::1]' : 'at our port'
        count[`bytes of refusals read ${where}`] += read.length
        return
      }
      if (isBeside) count['bytes read by a page at a squatted [::1]'] += read.length
      assert(target.isPublic && isOurs(page, target), read)
      count['bytes of public answers read by a page that had our address first'] += read.length
    },
  }
}
