/** Deliveries of webhooks to real receivers, which fail in many ways. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { wipe } from '../../src/state/database.ts'
import { webhookRows } from '../../src/state/webhooks.ts'
import { waitAfter } from '../../src/webhooks/deliveries.ts'
import {
  type Bench,
  OWNER,
  type Receiver,
  certificateFor,
  checkSignature,
  newBench,
  newReceiver,
  withStatus,
} from './bench.ts'

const [SECOND, HOUR, DAY] = [1000, 3_600_000, 86_400_000]

const hook = ({ webhooks }: Bench, url: string, types = ['token.created']) =>
  webhooks.create(OWNER, { url, types })

const newest = ({ webhooks }: Bench, id: string) => webhooks.deliveries(OWNER, id)[0]

/** Waits until the newest delivery is in a state, after a number of attempts. */
const delivery = (bench: Bench, id: string, state: string, attempts = 1) =>
  bench.when(() => {
    const one = newest(bench, id)
    return one?.state === state && one.attempts === attempts
  })

const stateOf = ({ webhooks }: Bench, id: string) =>
  webhooks.list(OWNER).find((one) => one.id === id)?.state

test('a delivery has the event, and a signature that the public library accepts', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  const { id, secret } = hook(bench, receiver.url)
  const token = bench.event('a name')
  await delivery(bench, id, 'delivered')
  const [got] = receiver.got
  assert(got)
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  checkSignature(got, secret)
  const { event, headers } = got
  const [stored] = bench.state.events.after(0, 1)
  assert.deepEqual(event, {
    id: stored?.id,
    type: 'token.created',
    timestamp: new Date(stored?.at as number).toISOString(),
    data: { token_id: token, name: 'a name' },
  })
  assert.equal(headers['webhook-id'], event.id)
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers.host, `127.0.0.1:${receiver.port}`)
  assert.equal(newest(bench, id)?.status, 200)
  const other = hook(bench, receiver.url)
  assert.throws(() => checkSignature(got, other.secret))
  assert.throws(() => checkSignature({ ...got, body: `${got.body} ` }, secret))
})

test('only the chosen types are sent, and only events after the creation', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  const before = bench.event()
  const one = hook(bench, receiver.url, ['token.revoked'])
  const all = await newReceiver(t)
  hook(bench, all.url, ['token.*'])
  const after = bench.event()
  bench.tokens.revoke(before)
  bench.tokens.revoke(after)
  await all.arrived(3)
  await receiver.arrived(2)
  await delivery(bench, one.id, 'delivered')
  assert.deepEqual(receiver.tokens(), [before, after])
  assert.deepEqual(
    all.got.map(({ event }) => event.type),
    ['token.created', 'token.revoked', 'token.revoked'],
  )
})

describe('an event is delivered after the receiver', () => {
  const faults: [
    name: string,
    answer: Parameters<Receiver['answer']>[0],
    error: string,
    status: number | null,
  ][] = [
    ['answers 500', withStatus(500), 'status', 500],
    ['answers 404', withStatus(404), 'status', 404],
    ['drops the connection', (res) => void res.destroy(), 'closed', null],
    ['drops the answer', (res) => void res.socket?.end('HTTP/1.1 2'), 'closed', null],
    ['answers nonsense', (res) => void res.socket?.end('nonsense\r\n\r\n'), 'closed', null],
    [
      'changes the protocol',
      withStatus(101, { Upgrade: 'x', Connection: 'Upgrade' }),
      'closed',
      null,
    ],
  ]
  for (const [name, answer, error, status] of faults)
    test(name, async (t) => {
      const [bench, receiver] = [newBench(t), await newReceiver(t)]
      receiver.answer(answer)
      const { id, secret } = hook(bench, receiver.url)
      const tokens = ['one', 'two', 'three'].map(bench.event)
      await delivery(bench, id, 'waiting')
      assert.deepEqual([newest(bench, id)?.error, newest(bench, id)?.status], [error, status])
      bench.advance(5 * SECOND)
      await delivery(bench, id, 'waiting', 2)
      receiver.answer(withStatus(204))
      bench.advance(10 * SECOND)
      await receiver.arrived(5)
      assert.deepEqual(receiver.tokens(), [tokens[0], tokens[0], ...tokens])
      // The id of an event stays, and each attempt has a time of its own.
      const [first, , third] = receiver.got
      assert.equal(first?.headers['webhook-id'], third?.headers['webhook-id'])
      assert.equal(
        Number(third?.headers['webhook-timestamp']) - Number(first?.headers['webhook-timestamp']),
        15,
      )
      for (const got of receiver.got.slice(0, 3)) checkSignature(got, secret)
      await bench.when(() => bench.webhooks.list(OWNER)[0]?.failing_since === null)
    })

  test('is there again', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    const { id } = hook(bench, receiver.url)
    const first = bench.event()
    await delivery(bench, id, 'delivered')
    await receiver.close()
    const second = bench.event()
    await delivery(bench, id, 'waiting')
    assert.equal(newest(bench, id)?.error, 'not_reachable')
    const again = await newReceiver(t, { port: receiver.port })
    bench.advance(5 * SECOND)
    await again.arrived(1)
    assert.deepEqual([...receiver.tokens(), ...again.tokens()], [first, second])
  })

  test('hangs, which holds back no other receiver', async (t) => {
    const [bench, slow, fast] = [newBench(t), await newReceiver(t), await newReceiver(t)]
    slow.answer(() => undefined)
    const { id } = hook(bench, slow.url)
    hook(bench, fast.url)
    const tokens = ['one', 'two', 'three'].map(bench.event)
    await Promise.all([slow.arrived(1), fast.arrived(3)])
    assert.deepEqual(fast.tokens(), tokens)
    slow.answer(withStatus(200))
    bench.advance(15 * SECOND)
    await delivery(bench, id, 'waiting')
    assert.equal(newest(bench, id)?.error, 'timeout')
    bench.advance(5 * SECOND)
    await slow.arrived(4)
    assert.deepEqual(slow.tokens(), [tokens[0], ...tokens])
  })
})

test('an answer without an end does not hold back the next event', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  receiver.answer((res) => {
    res.writeHead(200)
    const more = () => {
      while (res.write('x'.repeat(10_000)));
    }
    res.on('drain', more).on('error', () => undefined)
    more()
  })
  hook(bench, receiver.url)
  const tokens = ['one', 'two'].map(bench.event)
  await receiver.arrived(2)
  assert.deepEqual(receiver.tokens(), tokens)
})

test('redirects are not followed', async (t) => {
  const [bench, receiver, other] = [newBench(t), await newReceiver(t), await newReceiver(t)]
  receiver.answer(withStatus(307, { Location: other.url }))
  const { id } = hook(bench, receiver.url)
  bench.event()
  await delivery(bench, id, 'waiting')
  assert.deepEqual([newest(bench, id)?.status, other.connections()], [307, 0])
})

describe('a host name', () => {
  const NAME = 'hooks.example'
  for (const address of [
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '0.0.0.0',
    '127.0.0.1',
    '10.0.0.1',
  ])
    test(`that has the address ${address} gets nothing`, async (t) => {
      const tls = certificateFor(t, NAME)
      const receiver = await newReceiver(t, { tls })
      let found = [address]
      const bench = newBench(t, { resolve: async () => found, ca: tls.cert })
      const { id } = hook(bench, `https://${NAME}:${receiver.port}/hook`)
      bench.event()
      await delivery(bench, id, 'waiting')
      assert.equal(newest(bench, id)?.error, 'address_not_allowed')
      // One good address beside it does not help.
      found = ['8.8.8.8', address]
      bench.advance(5 * SECOND)
      await delivery(bench, id, 'waiting', 2)
      assert.equal(receiver.connections(), 0)
    })

  test('that cannot be resolved', async (t) => {
    const bench = newBench(t)
    const { id } = hook(bench, `https://${NAME}/`)
    bench.event()
    await delivery(bench, id, 'waiting')
    assert.equal(newest(bench, id)?.error, 'name_not_resolved')
  })

  test('is resolved once for each attempt, and the connection goes there, with TLS', async (t) => {
    const tls = certificateFor(t, 'localhost')
    const receiver = await newReceiver(t, { tls })
    const asked: string[] = []
    const resolve = async (host: string) => {
      asked.push(host)
      // Another look-up would lead elsewhere.
      return asked.length === 1 ? ['127.0.0.1'] : ['169.254.169.254']
    }
    const bench = newBench(t, { resolve, ca: tls.cert })
    const { id } = hook(bench, `https://localhost:${receiver.port}/hook`)
    bench.event()
    await delivery(bench, id, 'delivered')
    assert.deepEqual(asked, ['localhost'])
    assert.equal(receiver.got[0]?.headers.host, `localhost:${receiver.port}`)
  })

  test('without a certificate for it gets nothing', async (t) => {
    const tls = certificateFor(t, 'other.example')
    const receiver = await newReceiver(t, { tls })
    const bench = newBench(t, { resolve: async () => ['127.0.0.1'], ca: tls.cert })
    const { id } = hook(bench, `https://localhost:${receiver.port}/hook`)
    bench.event()
    await delivery(bench, id, 'waiting')
    assert.deepEqual([newest(bench, id)?.error, receiver.got.length], ['tls', 0])
  })
})

describe('waits', () => {
  test('grow from 5 seconds to 4 hours, and chance makes them longer', () => {
    const at = (attempts: number, random = 0, retryAfterMs: number | null = null) =>
      waitAfter(attempts, { random, retryAfterMs }) / SECOND
    assert.deepEqual(
      [1, 2, 3, 12, 13, 400].map((n) => at(n)),
      [5, 10, 20, 10_240, 14_400, 14_400],
    )
    assert.deepEqual([at(1, 1), at(400, 1)], [6.25, 18_000])
    assert.deepEqual([at(1, 0, 60 * SECOND), at(1, 0, DAY), at(5, 0, 0)], [60, 14_400, 80])
  })

  test('follow Retry-After', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    receiver.answer(withStatus(503, { 'Retry-After': '60' }))
    const { id } = hook(bench, receiver.url)
    bench.event()
    await delivery(bench, id, 'waiting')
    bench.advance(59 * SECOND)
    assert.equal(receiver.got.length, 1)
    bench.advance(SECOND)
    await receiver.arrived(2)
  })

  test('go on after a restart, and nothing is lost', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    receiver.answer(withStatus(500))
    const { id } = hook(bench, receiver.url)
    const tokens = ['one', 'two'].map(bench.event)
    await delivery(bench, id, 'waiting')
    const next = bench.restart()
    assert.equal(receiver.got.length, 1)
    tokens.push(next.event())
    next.advance(5 * SECOND)
    await delivery(next, id, 'waiting', 2)
    receiver.answer(withStatus(200))
    next.advance(10 * SECOND)
    await receiver.arrived(5)
    assert.deepEqual(receiver.tokens(), [tokens[0], tokens[0], ...tokens])
  })
})

describe('a webhook is given up', () => {
  test('after three days of failures, and goes on when it is enabled', async (t) => {
    const [bench, receiver, witness] = [newBench(t), await newReceiver(t), await newReceiver(t)]
    receiver.answer(withStatus(500))
    const { id } = hook(bench, receiver.url)
    hook(bench, witness.url, ['webhook.given_up'])
    const tokens = ['one', 'two'].map(bench.event)
    let attempts = 0
    const begun = Date.parse(bench.webhooks.list(OWNER)[0]?.created_at as string)
    let last = begun
    while (stateOf(bench, id) === 'active') {
      attempts += 1
      await bench.when(() => newest(bench, id)?.attempts === attempts)
      const { last_attempt_at, next_attempt_at } = newest(bench, id)!
      const at = Date.parse(next_attempt_at ?? last_attempt_at)
      bench.advance(at - last)
      last = at
    }
    assert.equal(last - begun, 3 * DAY)
    assert(attempts > 20 && attempts < 40, `${attempts} attempts`)
    assert.equal(newest(bench, id)?.state, 'failed')
    assert(bench.log.includes('webhook given up'))
    await witness.arrived(1)
    assert.deepEqual(witness.got[0]?.event.data, { webhook_id: id, name: null })

    receiver.answer(withStatus(200))
    const sent = receiver.got.length
    bench.advance(DAY)
    assert.equal(receiver.got.length, sent)
    bench.webhooks.update(OWNER, id, { enabled: true })
    await receiver.arrived(sent + 2)
    assert.deepEqual(receiver.tokens().slice(sent), tokens)
    assert.equal(stateOf(bench, id), 'active')
  })

  test('at once if the receiver answers 410', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    receiver.answer(withStatus(410))
    const { id } = hook(bench, receiver.url)
    bench.event()
    await bench.when(() => stateOf(bench, id) === 'given_up')
    assert.equal(newest(bench, id)?.attempts, 1)
  })
})

describe('events that are no longer stored', () => {
  const forget = ({ state }: Bench, upTo: number) =>
    state.db.exec(`delete from events where seq <= ${upTo}`)

  test('are replaced by one gap, which names the oldest event', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    const { id, secret } = hook(bench, receiver.url)
    bench.webhooks.update(OWNER, id, { enabled: false })
    const tokens = ['one', 'two', 'three'].map(bench.event)
    forget(bench, 2)
    bench.webhooks.update(OWNER, id, { enabled: true })
    await receiver.arrived(2)
    const [gap] = receiver.got
    assert(gap)
    checkSignature(gap, secret)
    const oldest = bench.state.events.oldest()?.id
    assert.deepEqual([gap.event.type, gap.event.data], ['gap', { oldest }])
    assert.deepEqual(receiver.tokens(), ['gap', tokens[2]])
  })

  test('are replaced while a delivery waits', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    receiver.answer(withStatus(500))
    const { id } = hook(bench, receiver.url)
    const tokens = ['one', 'two'].map(bench.event)
    await delivery(bench, id, 'waiting')
    const next = bench.restart()
    forget(next, 1)
    receiver.answer(withStatus(200))
    next.advance(5 * SECOND)
    await receiver.arrived(3)
    assert.deepEqual(receiver.tokens(), [tokens[0], 'gap', tokens[1]])
    const states = () => next.webhooks.deliveries(OWNER, id).map(({ state }) => state)
    await next.when(() => states().length === 2)
    assert.deepEqual(states(), ['delivered', 'delivered'])
  })

  test('are no gap if the webhook did not want them', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    hook(bench, receiver.url, ['token.revoked'])
    const witness = await newReceiver(t)
    hook(bench, witness.url)
    const [one = '', two = ''] = ['one', 'two'].map(bench.event)
    await witness.arrived(2)
    bench.advance(60 * SECOND)
    const next = bench.restart()
    forget(next, 1)
    next.tokens.revoke(one)
    next.tokens.revoke(two)
    await receiver.arrived(2)
    assert.deepEqual(receiver.tokens(), [one, two])
  })
})

test('a paused webhook gets nothing, and later all that it missed', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  const { id } = hook(bench, receiver.url)
  assert.equal(bench.webhooks.update(OWNER, id, { enabled: false }).state, 'paused')
  const token = bench.event()
  const witness = await newReceiver(t)
  hook(bench, witness.url)
  bench.event()
  await witness.arrived(1)
  assert.equal(receiver.connections(), 0)
  bench.webhooks.update(OWNER, id, { enabled: true })
  await receiver.arrived(2)
  assert.equal(receiver.tokens()[0], token)
})

test('a new URL is tried at once, with the same secret', async (t) => {
  const [bench, receiver, other] = [newBench(t), await newReceiver(t), await newReceiver(t)]
  receiver.answer(withStatus(500))
  const { id, secret } = hook(bench, receiver.url)
  const token = bench.event()
  await delivery(bench, id, 'waiting')
  bench.webhooks.update(OWNER, id, { url: other.url })
  await other.arrived(1)
  assert.deepEqual(other.tokens(), [token])
  checkSignature(other.got[0]!, secret)
})

describe('a webhook ends with the token that created it', () => {
  const byToken = (bench: Bench, url: string, expires_in: number | null = null) => {
    const { id } = bench.tokens.mint({ name: 'maker', scope: 'write', expires_in })
    const by = { token: id, scope: 'write' } as const
    return { token: id, ...bench.webhooks.create(by, { url, types: ['token.*'] }) }
  }

  test('when the token is revoked', async (t) => {
    const [bench, receiver, witness] = [newBench(t), await newReceiver(t), await newReceiver(t)]
    const { id, token } = byToken(bench, receiver.url)
    hook(bench, witness.url, ['token.revoked'])
    bench.tokens.revoke(token)
    await witness.arrived(1)
    assert.equal(receiver.connections(), 0)
    assert.equal(stateOf(bench, id), undefined)
    assert.equal(bench.state.secrets.get(id), null)
    assert(bench.log.includes('webhook ended with its token'))
  })

  test('while a delivery waits', async (t) => {
    const [bench, receiver] = [newBench(t), await newReceiver(t)]
    receiver.answer(withStatus(500))
    const { id, token } = byToken(bench, receiver.url)
    bench.event()
    await delivery(bench, id, 'waiting')
    bench.tokens.revoke(token)
    await bench.when(() => bench.state.secrets.get(id) === null)
    bench.advance(HOUR)
    assert.equal(receiver.got.length, 1)
  })

  const NOT_ANSWERED: [
    how: string,
    act: (bench: Bench, of: { id: string; token: string }) => void,
  ][] = [
    ['its token is revoked', ({ tokens }, { token }) => tokens.revoke(token)],
    ['its token expires', (bench) => bench.advance(10 * SECOND)],
    ['it is deleted', ({ webhooks }, { id }) => webhooks.delete(OWNER, id)],
    ['the device is signed out', ({ state }) => wipe(state.db)],
  ]
  for (const [how, act] of NOT_ANSWERED)
    test(`the delivery and the test under way are aborted if ${how}`, async (t) => {
      const [bench, receiver] = [newBench(t), await newReceiver(t)]
      const closed = Promise.withResolvers<void>()
      let count = 0
      receiver.answer((res) => void res.once('close', () => ++count === 2 && closed.resolve()))
      const made = byToken(bench, receiver.url, 10)
      bench.event()
      const testing = bench.webhooks.test(OWNER, made.id)
      await receiver.arrived(2)
      act(bench, made)
      bench.advance(SECOND)
      await closed.promise
      assert.deepEqual(
        [(await testing).error, stateOf(bench, made.id), receiver.got.length],
        ['closed', undefined, 2],
      )
    })

  test('when the token expires', async (t) => {
    const [bench, receiver, witness] = [newBench(t), await newReceiver(t), await newReceiver(t)]
    const { id } = byToken(bench, receiver.url, 60)
    hook(bench, witness.url)
    bench.advance(60 * SECOND)
    bench.event()
    await witness.arrived(1)
    assert.deepEqual([receiver.connections(), stateOf(bench, id)], [0, undefined])
  })
})

test('a sign-out deletes everything, and nothing more is sent', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  receiver.answer(withStatus(500))
  const { id } = hook(bench, receiver.url)
  bench.event()
  await delivery(bench, id, 'waiting')
  wipe(bench.state.db)
  bench.advance(HOUR)
  assert.deepEqual([receiver.got.length, bench.webhooks.list(OWNER)], [1, []])
  for (const table of ['webhooks', 'webhook_deliveries', 'secrets'])
    assert.equal(bench.state.db.prepare(`select 1 from ${table}`).get(), undefined, table)
})

test('a webhook without its sealed settings gets nothing, and can be deleted', async (t) => {
  const [bench, receiver, witness] = [newBench(t), await newReceiver(t), await newReceiver(t)]
  const { id } = hook(bench, receiver.url)
  bench.state.secrets.delete(id)
  const other = hook(bench, witness.url)
  bench.event()
  await witness.arrived(1)
  assert.equal(receiver.connections(), 0)
  assert.deepEqual(
    bench.webhooks.list(OWNER).map((one) => one.id),
    [other.id],
  )
  bench.webhooks.delete(OWNER, id)
  assert.equal(webhookRows(bench.state.db).get(id), null)
  assert.throws(() => bench.webhooks.delete(OWNER, id), { code: 'not_found' })
})

test('a test sends an event of its own now, and returns the outcome', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  const { id, secret } = hook(bench, receiver.url)
  const good = await bench.webhooks.test(OWNER, id)
  assert.deepEqual([good.delivered, good.status, good.error], [true, 200, null])
  const [got] = receiver.got
  assert.deepEqual([got?.event.id, got?.event.type], [good.event_id, 'webhook.test'])
  checkSignature(got!, secret)
  receiver.answer(withStatus(500))
  const bad = await bench.webhooks.test(OWNER, id)
  assert.deepEqual([bad.delivered, bad.status, bad.error], [false, 500, 'status'])
  assert.deepEqual(bench.webhooks.deliveries(OWNER, id), [])
  receiver.answer(() => undefined)
  const hanging = bench.webhooks.test(OWNER, id)
  await receiver.arrived(3)
  await assert.rejects(bench.webhooks.test(OWNER, id), { code: 'rate_limited' })
  bench.advance(15 * SECOND)
  assert.equal((await hanging).error, 'timeout')
})

test('the last 100 deliveries are kept', async (t) => {
  const [bench, receiver] = [newBench(t), await newReceiver(t)]
  const { id } = hook(bench, receiver.url)
  const tokens = Array.from({ length: 105 }, () => bench.event())
  await receiver.arrived(105)
  await bench.when(() => newest(bench, id)?.id === receiver.got[104]?.event.id)
  assert.deepEqual(receiver.tokens(), tokens)
  const kept = bench.webhooks.deliveries(OWNER, id).map((one) => one.id)
  assert.deepEqual(
    kept,
    receiver.got
      .slice(5)
      .map(({ event }) => event.id)
      .toReversed(),
  )
})

test('neither the URL nor the secret is in the database in clear', async (t) => {
  const bench = newBench(t)
  const { secret } = hook(bench, 'https://example.org/a-secret-in-the-path')
  bench.state.checkpoint()
  const { readFileSync } = await import('node:fs')
  const bytes = readFileSync(bench.state.db.location() as string)
  assert(!bytes.includes('a-secret-in-the-path'))
  assert(!bytes.includes(secret.slice(6, 40)))
})
