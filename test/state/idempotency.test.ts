/**
 * Tests operations under an idempotency key on this device.
 * Each is done once and answered alike. After a crash it is resumed as the same operation.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { AppError, type ErrorCode } from '../../src/errors.ts'
import {
  type Act,
  type Keyed,
  newAct,
  openIdempotency,
  requestKey,
} from '../../src/storage/idempotency.ts'
import { openState } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { startChild } from './child.ts'
import { rejects } from '../rejects.ts'

const DAY_MS = 24 * 3_600_000
const KEYED: Keyed = { caller: 'tok_1', key: 'k', fingerprint: 'f' }

/** Opens the state of a device in a folder; `again` is the next run of the daemon. */
function open(t: TestContext, dir = freshFolder(t), clock = { ms: 1_000_000 }) {
  const state = openState(dir)
  let closed = false
  const close = () => {
    if (!closed) state.close()
    closed = true
  }
  t.after(close)
  return {
    clock,
    state,
    once: openIdempotency({ rows: state.idempotency, now: () => clock.ms }),
    again() {
      close()
      return open(t, dir, clock)
    },
  }
}

/** Returns work that records each operation and answers how often it ran. */
function counting() {
  const acts: Act[] = []
  const work = async (act: Act) => ({
    runs: acts.push({ id: Uint8Array.from(act.id), at: act.at }),
  })
  return { acts, work }
}

const failing = (code: ErrorCode | null) => async () => {
  throw code === null ? new TypeError('bug') : new AppError(code, 'no')
}

test('a repetition gets the first answer, in the next run of the daemon too', async (t) => {
  const first = open(t)
  const { acts, work } = counting()
  assert.deepEqual(await first.once(KEYED, work), { runs: 1 })
  assert.deepEqual(await first.once(KEYED, work), { runs: 1 })
  assert.deepEqual(await first.again().once(KEYED, work), { runs: 1 })
  assert.equal(acts.length, 1)
  assert.equal(acts[0]?.id.length, 16)
  assert.equal(acts[0]?.at, 1_000_000)
})

test('an answer without content is stored, too', async (t) => {
  const { once } = open(t)
  let runs = 0
  const work = async () => {
    runs++
    return { status: 204, value: undefined, media: false }
  }
  const [a, b] = [await once(KEYED, work), await once(KEYED, work)]
  assert.deepEqual(
    [a.status, a.value, b.status, b.value, runs],
    [204, undefined, 204, undefined, 1],
  )
})

test('each caller has its own keys, and each key its own operation', async (t) => {
  const { once } = open(t)
  const { acts, work } = counting()
  const others = [KEYED, { ...KEYED, caller: 'tok_2' }, { ...KEYED, key: 'l' }]
  for (const keyed of others) await once(keyed, work)
  assert.equal(new Set(acts.map(({ id }) => Buffer.from(id).toString('hex'))).size, 3)
})

test('the same key for another request is rejected, during the first and after it', async (t) => {
  const { once } = open(t)
  const other = { ...KEYED, fingerprint: 'g' }
  const { work } = counting()
  await once(KEYED, async (act) => {
    await rejects('idempotency_mismatch', once(other, work))
    return work(act)
  })
  await rejects('idempotency_mismatch', once(other, work))
  assert.deepEqual(await once(KEYED, work), { runs: 1 })
})

test('while the first request runs, the second gets in_progress', async (t) => {
  const { once } = open(t)
  const { acts, work } = counting()
  await once(KEYED, async (act) => {
    await assert.rejects(once(KEYED, work), (error) => {
      assert(error instanceof AppError)
      assert.deepEqual([error.code, error.headers], ['in_progress', { 'Retry-After': '1' }])
      return true
    })
    return work(act)
  })
  assert.equal(acts.length, 1)
})

test('of fifty concurrent requests one runs', async (t) => {
  const { once } = open(t)
  const { acts, work } = counting()
  const all = await Promise.allSettled(Array.from({ length: 50 }, () => once(KEYED, work)))
  assert.equal(acts.length, 1)
  for (const one of all)
    if (one.status === 'fulfilled') assert.deepEqual(one.value, { runs: 1 })
    else assert.equal((one.reason as AppError).code, 'in_progress')
})

test('an answer is stored for a day from the first request on', async (t) => {
  const { once, clock } = open(t)
  const { acts, work } = counting()
  await once(KEYED, work)
  clock.ms += DAY_MS - 1
  assert.deepEqual(await once(KEYED, work), { runs: 1 })
  clock.ms += 1
  assert.deepEqual(await once({ ...KEYED, fingerprint: 'g' }, work), { runs: 2 })
  assert.notDeepEqual(acts[0]?.id, acts[1]?.id)
})

const failures: [code: ErrorCode | null, forgotten: boolean][] = [
  ['validation_failed', true],
  ['not_found', true],
  ['conflict', true],
  ['no_device', true],
  ['forbidden', true],
  // Errors that leave the outcome unknown, or that do not depend on the request.
  [null, false],
  ['internal', false],
  ['backend_unavailable', false],
  ['backend_timeout', false],
  ['storage_full', false],
  ['in_progress', false],
  ['not_signed_in', false],
  ['rate_limited', false],
]
for (const [code, forgotten] of failures)
  test(`after ${code ?? 'an internal error'} the next attempt is ${forgotten ? 'a new operation' : 'the same operation'}`, async (t) => {
    const first = open(t)
    const { acts, work } = counting()
    const failed = first.once(KEYED, async (act) => {
      await work(act)
      return failing(code)()
    })
    await assert.rejects(failed, code === null ? TypeError : { code })
    const mended = { ...KEYED, fingerprint: 'g' }
    if (!forgotten) await rejects('idempotency_mismatch', first.once(mended, work))
    first.clock.ms += 5
    await first.again().once(forgotten ? mended : KEYED, work)
    assert.equal(acts.length, 2)
    if (forgotten) assert.notDeepEqual(acts[0], acts[1])
    else assert.deepEqual(acts[0], acts[1])
  })

test('an error after an attempt with unknown outcome keeps that attempt', async (t) => {
  const { once } = open(t)
  const { acts, work } = counting()
  await assert.rejects(
    once(KEYED, async (act) => {
      await work(act)
      return failing('backend_timeout')()
    }),
  )
  await rejects('conflict', once(KEYED, failing('conflict')))
  await once(KEYED, work)
  assert.deepEqual(acts[0], acts[1])
})

test('kill -9 during operations: answered ones keep their answer, and the others repeat as the same operation', async (t) => {
  const dir = freshFolder(t)
  const child = startChild(t, 'acting.ts', dir)
  const lines: string[] = []
  while (lines.length < 101) lines.push(await child.line())
  lines.push(...(await child.kill()))
  const { once } = open(t, dir)
  const begun = new Map<string, string>()
  const answered = new Map<string, string>()
  for (const line of lines) {
    const [what, key = '', id = ''] = line.split(' ')
    ;(what === 'begun' ? begun : answered).set(key, id)
  }
  assert(answered.size >= 49, `${answered.size} answered`)
  const seen: string[] = []
  for (const [key, id] of begun) {
    const work = async (act: Act) => {
      seen.push(key)
      return { id: Buffer.from(act.id).toString('hex') }
    }
    assert.deepEqual(await once({ ...KEYED, key }, work), { id })
  }
  assert(
    seen.every((key) => !answered.has(key)),
    'nothing answered was done again',
  )
  assert(seen.length <= 1)
})

test('the key of a request in an operation depends on operation, method and path', () => {
  const act = newAct(1)
  const key = requestKey(act, 'POST', '/api/v1/tags')
  assert.match(key, /^[\w-]{43}$/)
  assert.equal(requestKey({ id: act.id }, 'POST', '/api/v1/tags'), key)
  const others = [
    requestKey(newAct(1), 'POST', '/api/v1/tags'),
    requestKey(act, 'DELETE', '/api/v1/tags'),
    requestKey(act, 'POST', '/api/v1/groups'),
  ]
  assert.equal(new Set([key, ...others]).size, 4)
})
