/**
 * Helpers for tests of the guard over raw sockets, on both listeners.
 * The files `guard-*.test.ts` cover each row of the design’s table of attacks that the server
 * itself must resist. This file starts the daemon that the tests of one file attack, and checks
 * each of its answers.
 */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { type RawAnswer, exchange, hostOf } from './raw.ts'

/** The daemon of this file, and a token of it with scope write; set while the tests run. */
export let daemon: TestDaemon
export let write: string

/** Starts the daemon before the tests of this file, and closes it after them. */
export function withDaemon(): void {
  before(async () => {
    daemon = await startDaemon()
    write = await daemon.token('write')
  })
  after(() => daemon.close())
}

/** Either listener of the daemon. */
export type Listener = 'address' | 'accountAddress'
export const LISTENERS: Listener[] = ['address', 'accountAddress']
export const CLOSE = 'Connection: close'
export const JSON_TYPE = 'Content-Type: application/json'
/** A valid body for the token route. */
export const NEW_TOKEN = '{"name":"n","scope":"read"}'

export const errorOf = ({ body }: RawAnswer) => (JSON.parse(body) as { error: string }).error

/** Checks the headers that every answer has, errors included. */
export function checkHeaders({ headers, status }: RawAnswer): void {
  assert.match(headers['x-request-id'] ?? '', /^[\w-]+$/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'no-store')
  assert.match(headers['content-security-policy'] ?? '', /frame-ancestors 'none'/)
  assert(!Object.keys(headers).some((name) => name.startsWith('access-control')), 'CORS header')
  assert(!('set-cookie' in headers), 'cookie')
  assert.notEqual(status, 101)
}

/** Returns the only answer of a connection. */
export function only(answers: RawAnswer[]): RawAnswer {
  assert.equal(answers.length, 1, JSON.stringify(answers))
  const [answer] = answers as [RawAnswer]
  checkHeaders(answer)
  return answer
}

/** Returns the only answer of a connection, which must refuse with this status and code. */
export function refused(answers: RawAnswer[], status: number, error: string): RawAnswer {
  const answer = only(answers)
  assert.equal(`${answer.status} ${errorOf(answer)}`, `${status} ${error}`)
  return answer
}

export const portOf = (address: string) => new URL(address).port

/** Sends a request to a listener; `lines` receives the Host that it requires. */
export const ask1 = (at: Listener, lines: (host: string) => string[], body = '') =>
  exchange(daemon[at], lines(hostOf(daemon[at])), body)
