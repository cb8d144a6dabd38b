/** What is right when a hostile page asks: what the daemon may answer to whom, and what of it the page may read. All of it is counted. */
import assert from 'node:assert/strict'
import type { Arrival, HostilePage } from './browser-stage.ts'
import type { Target } from './browser-targets.ts'

const FRAMING = ['a frame', 'an object', 'an embedded page']
/** Ways that open a page instead of reading it, as links from elsewhere may. */
export const OPENING: ReadonlySet<string> = new Set([...FRAMING, 'a window', 'a form that asks'])
/** Paths that a link may open. */
export const OPENED = /^\/(?:api\/v1\/docs|(?:g|s|o|confirm|exports)\/[\w-]+)(?:\?|$)/

const REFUSAL = /\{"error":"(\w+)","message":"/

/** Whether a page may ask there like a page of ours, which has no token. */
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
  /** What happened, by what it was; the test prints it. */
  readonly count: ReturnType<typeof newCount>
  /** Fails where the daemon answered otherwise than with a refusal, but for pages that a link may open, at the address that they have. */
  judge(arrival: Arrival, page: HostilePage, way: string, target: Target): void
  /** Fails where a page could read what is not for it. */
  judgeRead(read: string, page: HostilePage, way: string, target: Target): void
}

/** @param secrets what no page may ever read */
export function newVerdicts(secrets: readonly string[]): Verdicts {
  const count = newCount()
  return {
    count,
    judge({ req, res }, page, way, target) {
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
