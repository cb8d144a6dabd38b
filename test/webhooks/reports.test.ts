/** Given-up webhooks are reported to the account server, which notifies the user. */
import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import type { NewWebhook } from '../../src/api/live/webhooks.ts'
import type { Account } from '../../src/api/port.ts'
import { AppError } from '../../src/errors.ts'
import type { WebhookNotifier } from '../../src/webhooks/reports.ts'
import { startDaemon } from '../daemon.ts'
import { freePort } from '../free-port.ts'
import { asOwner, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'
import { type Bench, OWNER, type Receiver, newBench, newReceiver, withStatus } from './bench.ts'

const HOUR = 3_600_000

type Body = Parameters<Account['webhookNotices']['create']>[0]['body']

/** An account server that stores reports, or fails with an error. */
function newServer() {
  const got: Body[] = []
  let failure: AppError | null = null
  let asked = 0
  const account: WebhookNotifier = {
    webhookNotices: {
      async create({ body }) {
        asked += 1
        if (failure !== null) throw failure
        got.push(body)
      },
    },
  }
  const failing = (code: ConstructorParameters<typeof AppError>[0] | null) =>
    void (failure = code === null ? null : new AppError(code, 'x'))
  return { account, got, failing, asked: () => asked }
}

/** Returns a webhook that was given up. */
async function givenUp(bench: Bench, receiver: Receiver, of: Partial<NewWebhook> = {}) {
  receiver.answer(withStatus(410))
  const hook = { url: receiver.url, types: ['token.created'], ...of }
  const { id } = bench.webhooks.create(OWNER, hook)
  bench.event()
  await bench.when(() => bench.webhooks.list(OWNER).some((one) => isGivenUp(one, id)))
  return id
}
const isGivenUp = (one: { id: string; state: string }, id: string) =>
  one.id === id && one.state === 'given_up'

const place = async (t: TestContext) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  return { bench, receiver, server: newServer() }
}

describe('a given-up webhook', () => {
  test('is reported once, with the host of its URL and nothing else of it', async (t) => {
    const { bench, receiver, server } = await place(t)
    const url = `${receiver.url}/a-secret?token=another`
    const id = await givenUp(bench, receiver, { url })
    assert.equal(bench.reportsDue(), 1)
    for (let i = 0; i < 2; i++) await bench.webhooks.report(server.account)
    const events = bench.state.events.after(0, 200)
    const failing = bench.webhooks.list(OWNER)[0]?.failing_since
    assert.deepEqual(server.got, [
      {
        webhook_id: id,
        event_id: events.find(({ type }) => type === 'webhook.given_up')?.id,
        name: `127.0.0.1:${receiver.port}`,
        failing_since: failing,
      },
    ])
  })

  test('is reported with its name, if it has one', async (t) => {
    const { bench, receiver, server } = await place(t)
    await givenUp(bench, receiver, { name: 'Alarm' })
    await bench.webhooks.report(server.account)
    assert.equal(server.got[0]?.name, 'Alarm')
  })

  test('is reported later if the account server is away, also after a restart', async (t) => {
    const { bench, receiver, server } = await place(t)
    await givenUp(bench, receiver)
    server.failing('backend_unavailable')
    await bench.webhooks.report(server.account)
    assert(bench.log.includes('could not report a given-up webhook'))
    const next = bench.restart()
    server.failing(null)
    await next.webhooks.report(server.account)
    assert.equal(server.got.length, 1)
  })

  test('is reported when the account server is new enough, which is asked once an hour', async (t) => {
    const { bench, receiver, server } = await place(t)
    await givenUp(bench, receiver)
    server.failing('no_such_route')
    for (let i = 0; i < 3; i++) await bench.webhooks.report(server.account)
    assert.equal(server.asked(), 1)
    server.failing(null)
    bench.advance(HOUR)
    await bench.webhooks.report(server.account)
    assert.equal(server.got.length, 1)
  })

  const REMEDIES = [
    ['enabled', (bench, id) => void bench.webhooks.update(OWNER, id, { enabled: true })],
    ['deleted', (bench, id) => bench.webhooks.delete(OWNER, id)],
  ] as const satisfies [string, (bench: Bench, id: string) => void][]
  for (const [how, act] of REMEDIES)
    test(`is not reported any more if it was ${how} meanwhile`, async (t) => {
      const { bench, receiver, server } = await place(t)
      const id = await givenUp(bench, receiver)
      receiver.answer(withStatus(200))
      act(bench, id)
      await bench.webhooks.report(server.account)
      assert.equal(server.asked(), 0)
    })

  test('is reported again after it was given up again', async (t) => {
    const { bench, receiver, server } = await place(t)
    const id = await givenUp(bench, receiver)
    await bench.webhooks.report(server.account)
    bench.webhooks.update(OWNER, id, { enabled: true })
    await bench.when(() => bench.webhooks.list(OWNER).some((one) => isGivenUp(one, id)))
    await bench.webhooks.report(server.account)
    assert.deepEqual(new Set(server.got.map(({ event_id }) => event_id)).size, 2)
  })
})

interface Notifications {
  readonly items: { kind: string; body: string; data: Record<string, string> }[]
}

test('a daemon notifies its user; with an account server that is away, when it is back', async (t) => {
  const dir = freshFolder(t)
  const receiver = await newReceiver(t)
  receiver.answer(withStatus(410))
  const onPort = { SVC_STATE_DIR: dir, SVC_ACCOUNT_PORT: String(await freePort()) }
  const first = await startDaemon(onPort)
  const daemon = await startDaemon({ SVC_BACKEND_URL: first.accountAddress })
  t.after(() => daemon.close())
  await signIn(daemon, first, 'ada@example.org')
  const create = (url: string) =>
    asOwner<{ id: string }>(daemon, 'POST', '/api/v1/webhooks', { url, types: ['token.created'] })
  const cause = () => asOwner(daemon, 'POST', '/api/v1/token', { name: 'one', scope: 'read' })
  const noted = (id: string) =>
    until(`a notification of ${id}`, async () => {
      const { items } = await asOwner<Notifications>(daemon, 'GET', '/api/v1/notifications')
      return items.find(({ data }) => data['webhook_id'] === id)
    })
  const one = await create(receiver.url)
  await cause()
  const note = await noted(one.id)
  assert.equal(note.kind, 'webhook_given_up')
  assert(note.body.includes(`"127.0.0.1:${receiver.port}"`))

  await first.close()
  const two = await create(receiver.url)
  await cause()
  await receiver.arrived(2)
  const again = await startDaemon(onPort)
  t.after(() => again.close())
  assert.equal((await noted(two.id)).kind, 'webhook_given_up')
})
