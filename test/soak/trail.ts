/**
 * Compares the answers of a daemon to this process with the audit log in that daemon’s folder.
 *
 * A daemon writes the line of a write before its answer. So a line may be missing after a kill
 * only if no other write that was requested after its answer was answered, too; and on a full
 * disk only as long as the disk is full.
 */
import assert from 'node:assert/strict'
import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { verifyAudit } from '../../src/storage/audit-chain.ts'
import { auditFiles, type AuditLine } from '../../src/storage/audit-files.ts'

const [ASKED, ANSWERED] = ['undici:request:create', 'undici:request:headers']

/** A write that was answered, and its position among all requests and answers. */
interface Answer {
  readonly id: string
  readonly request: string
  readonly status: number
  readonly asked: number
  readonly answered: number
}

export interface Trail {
  /** Returns the present position, for `demand`. */
  now(): number
  /**
   * Throws unless the audit log is valid and has the line of each write so far, with its status.
   * Lines of answers after `since` may be missing: by default, those after which no answered
   * write was requested.
   * @returns the number of missing lines; the next call requires them
   */
  demand(stateDir: string, since?: number): number
  /** Drops the missing lines: they were lost with the killed daemon. */
  forget(): void
}

/** Returns the status of each request in an audit log. A line that a crash cut off is skipped. */
function statusesIn(stateDir: string): Map<string | null, number | null> {
  const texts = auditFiles(stateDir).flatMap((name) =>
    readFileSync(join(stateDir, name), 'utf8').split('\n'),
  )
  return new Map(
    texts
      .filter((text) => text.startsWith('{') && text.endsWith('}'))
      .map((text) => JSON.parse(text) as AuditLine)
      .map(({ request_id: id, status }) => [id, status]),
  )
}

function headerOf(headers: readonly Buffer[], name: string): string {
  const at = headers.findIndex((one, i) => i % 2 === 0 && String(one).toLowerCase() === name)
  return String(headers[at + 1])
}

/** Records each write of this process (each `fetch` that is not a GET) until the test ends. */
export function follow(t: TestContext): Trail {
  let moment = 0
  const asked = new WeakMap<object, number>()
  let answers: Answer[] = []
  const onAsked = ((message: { request: object }) =>
    void asked.set(message.request, ++moment)) as ChannelListener
  const onAnswered = ((message: {
    request: { method: string; path: string }
    response: { statusCode: number; headers: Buffer[] }
  }) => {
    const { request, response } = message
    if (request.method === 'GET') return
    // An error without a caller’s identity: a few a minute get a line, and the others are
    // counted.
    if (request.path === '/api/v1/token' && response.statusCode >= 400) return
    answers.push({
      id: headerOf(response.headers, 'x-request-id'),
      request: `${request.method} ${request.path}`,
      status: response.statusCode,
      asked: asked.get(request) ?? assert.fail('it was not asked'),
      answered: ++moment,
    })
  }) as ChannelListener
  subscribe(ASKED, onAsked)
  subscribe(ANSWERED, onAnswered)
  t.after(() => {
    unsubscribe(ASKED, onAsked)
    unsubscribe(ANSWERED, onAnswered)
  })
  return {
    now: () => ++moment,
    demand(stateDir, since = Math.max(...answers.map((one) => one.asked))) {
      assert.equal(verifyAudit(stateDir).fault, null)
      const statuses = statusesIn(stateDir)
      const missing = answers.filter(({ id }) => !statuses.has(id))
      for (const { id, request, status, answered } of answers)
        if (statuses.has(id)) assert.equal(statuses.get(id), status, `${request} ${id}`)
        else assert(answered > since, `${request} ${id}: answered ${status}, and has no line`)
      answers = missing
      return missing.length
    },
    forget: () => void (answers = []),
  }
}
