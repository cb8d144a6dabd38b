/**
 * A daemon on a disk that cannot be written: the requests that it must still answer, the error
 * for the others, and its recovery afterwards.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Answered, ask, caller, listed, newToken } from '../e2e/caller.ts'
import { chance } from './chance.ts'
import { type Stage, newLedger } from './ledger.ts'
import { stageOf, started } from './lives.ts'
import { type Writing, WRITES_OF_THINGS } from './writers.ts'

/** Requests that write nothing. */
const READS = [
  'GET /health',
  'GET /api/v1/status',
  'GET /api/v1/context',
  'GET /api/v1/api-tokens',
  'GET /api/v1/connections',
  'GET /api/v1/guest-codes',
  'GET /api/v1/verification-log',
  'GET /api/v1/preferences',
]

/** Writes, each of which stores something in a place of its own. */
export const WRITES: readonly (readonly [request: string, body: () => unknown])[] = [
  ['POST /api/v1/token', () => ({ name: 't', scope: 'read' })],
  ['POST /api/v1/api-tokens', () => ({ name: 't', scope: 'read' })],
  ['POST /api/v1/guest-codes', () => ({ label: 'g' })],
  ['POST /api/v1/connections', () => ({ name: 'c' })],
  ['POST /api/v1/stamp', () => ({ content: 'x' })],
  ['POST /api/v1/verify', () => ({ words: 'matador carload recede' })],
  ['POST /api/v1/exports', () => undefined],
  ['PATCH /api/v1/preferences', () => ({ locale: 'de' })],
  ['POST /api/v1/external-members', () => ({ display_name: 'm' })],
  ['POST /api/v1/feedback', () => ({ message: 'f' })],
  ['POST /api/v1/chat', () => ({ message: 'how' })],
]

/** Starts a daemon and creates one of each thing that a ledger records. */
export async function populated(t: TestContext, dir: string) {
  const daemon = await started(t, dir)
  const { token } = await newToken(daemon.address)
  let n = 0
  const of: Writing = {
    stage: stageOf(daemon, token),
    ledger: newLedger(),
    chance: chance(t),
    organisation: null,
    next: () => ++n,
  }
  for (let round = 0; round < 2; round++) for (const write of WRITES_OF_THINGS) await write(of)
  return { daemon, of }
}

const refusal = ({ status, body }: Answered) => `${status} ${body?.error ?? ''}`.trim()

/**
 * Returns whether earlier requests explain the rejection, with any disk: one export is built at a
 * time, and twenty wrong words a minute are checked.
 */
const isBusy = (request: string, answer: Answered): boolean =>
  refusal(answer) === '409 conflict' ||
  (request === 'POST /api/v1/verify' && refusal(answer) === '429 rate_limited')

/**
 * Asserts that reads are answered and that each write succeeds or gets the documented error.
 * Returns the rejected requests.
 */
export async function requireBearing({ address, token }: Stage): Promise<Set<string>> {
  const refused = new Set<string>()
  for (const [request, body] of WRITES) {
    const answer = await ask(address, token, request, body())
    if (answer.status < 300 || isBusy(request, answer)) continue
    assert.equal(refusal(answer), '507 storage_full', `${request}: ${JSON.stringify(answer.body)}`)
    assert.match(answer.body.message, /disk is full|Cannot write to/, request)
    refused.add(request)
  }
  for (const request of READS)
    assert.equal((await ask(address, token, request)).status, 200, request)
  return refused
}

/** Asserts that everything works, in the same daemon. */
export async function requireWell({ address, token }: Stage): Promise<void> {
  for (const [request, body] of WRITES) {
    const answer = await ask(address, token, request, body())
    assert(answer.status < 300 || isBusy(request, answer), `${request}: ${refusal(answer)}`)
  }
  const { last_sync: sync } = await caller(address, token)('POST /api/v1/sync')
  assert.deepEqual([sync.ok, sync.error], [true, null])
}

/** Asserts that an export becomes ready, also after the failure of an earlier one. */
export async function requireExport({ address, token }: Stage): Promise<void> {
  const call = caller(address, token)
  await call('DELETE /api/v1/exports')
  const { id } = await call('POST /api/v1/exports')
  for (let state = ''; state !== 'ready';) {
    state = (await listed(call, '/api/v1/exports')).find((one) => one.id === id)?.state
    assert(['queued', 'building', 'ready'].includes(state), state)
  }
}
