/** When reads are answered from copies, with handlers and outcomes of calls made up here. */
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { rest } from '../../src/api/rest/index.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { newCopies } from '../../src/device/copies/copies.ts'
import { newReachability } from '../../src/device/sync/reachability.ts'
import { AppError } from '../../src/errors.ts'
import type { HandlerContext } from '../../src/handlers/context.ts'
import { withCopies } from '../../src/handlers/copied.ts'
import { enrolled } from '../device/enrolled.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'
import { contextOf } from '../world/requests.ts'

const AT = Date.UTC(2026, 0, 31, 9, 30)
const unavailable = () => new AppError('backend_unavailable', 'It is away.')
const TAG = {
  id: newId('tag_', AT),
  name: 'Work',
  color: null,
  connection_count: 0,
  created_at: '2026-01-31T09:30:00.000Z',
}
const LIST = { items: [TAG], next_cursor: null }
const COPY = { ...LIST, as_of: '2026-01-31T09:30:00.000Z' }

/** Returns the list of tags with a copy of it. `answers` answers in place of the server. */
async function tagsOf(t: TestContext, answers: () => Promise<unknown>) {
  const device = await enrolled(t)
  const clock = { now: AT }
  const now = () => clock.now
  const copies = newCopies({ state: device.state, server: 'https://a', now, log: () => undefined })
  copies.begin('tags', 'list')?.({ limit: 50 }, LIST)
  const reachability = newReachability({ ready: async () => undefined, now })
  const list = async (_: unknown, { account }: HandlerContext) =>
    account === context.account ? answers() : account.tags.list({ limit: 50 })
  const context = contextOf(device)
  const made = withCopies(rest, { tags: { list } }, { copies, reachability, now })
  const read = (more: Partial<HandlerContext> = {}) =>
    made['tags']?.['list']?.({ limit: 50 }, Object.assign(Object.create(context), more))
  return { account: device.account, copies, reachability, clock, read }
}

it('a server that is known to be away is not asked', async (t) => {
  let asked = 0
  const { reachability, read } = await tagsOf(t, async () => asked++)
  reachability.note(unavailable())
  assert.deepEqual([await read(), asked], [COPY, 0])
})

it('a later read asks again, and waits only briefly', async (t) => {
  const waiting = Promise.withResolvers<unknown>()
  const { reachability, clock, read } = await tagsOf(t, () => waiting.promise)
  reachability.note(unavailable())
  reachability.begin()
  clock.now += 60_000
  assert.equal(reachability.last().isFresh, false)
  assert.deepEqual(await read(), COPY)
  assert.equal(reachability.last().isFresh, true, 'the next read does not wait')
  waiting.resolve(LIST)
})

it('the first read does not wait for a server that is silent', async (t) => {
  const waiting = Promise.withResolvers<unknown>()
  const { reachability, read } = await tagsOf(t, () => waiting.promise)
  reachability.begin()
  assert.deepEqual(await read(), COPY)
  assert.equal(reachability.last().since, AT)
  waiting.resolve(LIST)
})

it('a read without a copy waits for a server that is slow', async (t) => {
  const waiting = Promise.withResolvers<unknown>()
  const { copies, reachability, read } = await tagsOf(t, () => waiting.promise)
  copies.clear()
  reachability.begin()
  const answer = read()
  await until('the read to be late', () => reachability.last().since !== null)
  waiting.resolve(LIST)
  assert.deepEqual(await answer, LIST)
})

it('a read that computes after the response of the server is not replaced by a copy', async (t) => {
  const { reachability, clock, read } = await tagsOf(t, () => setTimeout(1_200, LIST))
  reachability.note(unavailable())
  clock.now += 60_000
  assert.deepEqual(await read(), LIST)
})

it('a later read has the answer of a server that is back', async (t) => {
  const { reachability, clock, read } = await tagsOf(t, async () => LIST)
  reachability.note(unavailable())
  clock.now += 60_000
  assert.deepEqual(await read(), LIST)
})

it('only a server that does not answer is replaced by a copy', async (t) => {
  const codes = [
    'not_found',
    'forbidden',
    'not_signed_in',
    'rate_limited',
    'backend_error',
  ] as const
  for (const code of codes) {
    const { read } = await tagsOf(t, () => Promise.reject(new AppError(code, 'No.')))
    await rejects(code, read() as Promise<unknown>)
  }
  for (const code of ['backend_unavailable', 'backend_timeout'] as const) {
    const { read } = await tagsOf(t, () => Promise.reject(new AppError(code, 'No.')))
    assert.deepEqual(await read(), COPY)
  }
})

it('a caller without this device, such as a machine account, gets no copy', async (t) => {
  const { read } = await tagsOf(t, () => Promise.reject(unavailable()))
  await rejects('backend_unavailable', read({ device: null }) as Promise<unknown>)
})

it('a copy is used for 30 days', async (t) => {
  const { reachability, clock, read } = await tagsOf(t, () => Promise.reject(unavailable()))
  clock.now += 29 * 86_400_000
  assert.deepEqual(await read(), COPY)
  clock.now += 2 * 86_400_000
  assert.equal(reachability.last().isFresh, false)
  await rejects('backend_unavailable', read() as Promise<unknown>)
})

it('a copy of another form, which another version of the program stored, is not used', async (t) => {
  const { copies, reachability, read } = await tagsOf(t, () => Promise.reject(unavailable()))
  const { color: _color, ...older } = TAG
  copies.begin('tags', 'list')?.({}, { items: [older], next_cursor: null })
  reachability.note(unavailable())
  await rejects('backend_unavailable', read() as Promise<unknown>)
})

it('an answer that was requested before a write is not copied after it', async (t) => {
  const { account, copies, read } = await tagsOf(t, () => Promise.reject(unavailable()))
  const before = copies.begin('tags', 'list')
  await copies.during(
    ['tags'],
    () => account,
    async () => undefined,
  )
  before?.({ limit: 50 }, LIST)
  await rejects('backend_unavailable', read() as Promise<unknown>)
})

it('an unchanged answer writes nothing, and still makes the copy newer', async (t) => {
  const device = await enrolled(t)
  const clock = { now: AT }
  const of = { state: device.state, server: 'https://a', log: () => undefined }
  const copies = newCopies({ ...of, now: () => clock.now })
  copies.begin('tags', 'list')?.({ limit: 50 }, LIST)
  const before = device.state.changes()
  clock.now += 60_000
  copies.begin('tags', 'list')?.({ limit: 50 }, LIST)
  assert.equal(device.state.changes(), before)
  const { account, asOf } = copies.read(clock.now)
  await account.tags.list({})
  assert.equal(asOf(), clock.now)
})
