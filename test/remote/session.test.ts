/** The session of a device: proofs that an independent library accepts, nonces, renewals. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CONTEXT, newIssuer, started } from './issuer.ts'
import { type Seen, clientAt, json, refusal, scripted } from './scripted.ts'
import { rejects } from '../rejects.ts'

const HOUR = 3_600_000

const proofOf = ({ headers }: Seen) =>
  JSON.parse(Buffer.from(String(headers['dpop']).split('.')[1]!, 'base64url').toString()) as Record<
    string,
    unknown
  >

test('the first call gets a token for itself; later ones use it', async (t) => {
  const { issuer, server, read } = await started(t)
  assert.deepEqual(await read(), CONTEXT)
  for (let i = 0; i < 5; i++) await read()
  assert.deepEqual(issuer.counts, { renewals: 1, challenges: 1, stale: 0, refused: 0 })
  const [first, second, third] = server.seen as [Seen, Seen, Seen]
  assert.deepEqual(
    [first.url, second.url, third.url],
    ['/device/v1/session', '/device/v1/session', '/api/v1/context'],
  )
  assert.deepEqual(JSON.parse(second.body), { refresh_token: 'refresh' })
  assert.equal(second.headers.authorization, undefined)
  assert.equal(third.headers.authorization, 'DPoP access-1')
})

test('a proof does not cover the query', async (t) => {
  const { account, server } = await started(t)
  await assert.rejects(account.connections.list({ limit: 5 }))
  const last = server.seen.at(-1)!
  assert.equal(last.url, '/api/v1/connections?limit=5')
  assert.equal(proofOf(last)['htu'], `${server.base}/api/v1/connections`)
})

test('a new nonce costs one more request, once', async (t) => {
  const { issuer, server, read } = await started(t)
  await read()
  issuer.nonce = 'nonce-1'
  const before = server.seen.length
  await read()
  await read()
  assert.equal(server.seen.length, before + 3)
  assert.equal(issuer.counts.challenges, 2)
  assert.equal(issuer.counts.renewals, 1)
})

test('the nonce is taken from any answer', async (t) => {
  const { issuer, server, read } = await started(t)
  await read()
  issuer.before = async () => {
    issuer.nonce = 'nonce-1'
  }
  await read()
  const { challenges } = issuer.counts
  const before = server.seen.length
  // The previous answer contains the old nonce: it was written before the change.
  await read()
  assert.equal(issuer.counts.challenges, challenges + 1)
  assert.equal(server.seen.length, before + 2)
  await read()
  assert.equal(issuer.counts.challenges, challenges + 1)
})

test('a server that never accepts its own nonce is asked a limited number of times', async (t) => {
  let n = 0
  const server = await scripted(t, (res) =>
    json(res, 401, refusal('invalid_token', 'use a nonce'), {
      'WWW-Authenticate': 'DPoP error="use_dpop_nonce"',
      'DPoP-Nonce': `nonce-${n++}`,
    }),
  )
  const issuer = newIssuer(() => server.base)
  await rejects('backend_error', clientAt(t, server.base).account(issuer.session).context.read({}))
  assert.equal(server.seen.length, 2)
})

test('a challenge without a new nonce is not answered', async (t) => {
  for (const headers of [
    {},
    { 'DPoP-Nonce': '' },
    { 'DPoP-Nonce': 'a b' },
    { 'DPoP-Nonce': '"' },
  ]) {
    const server = await scripted(t, (res) =>
      json(res, 401, refusal('invalid_token', 'x'), {
        'WWW-Authenticate': 'DPoP error="use_dpop_nonce"',
        ...headers,
      }),
    )
    const issuer = newIssuer(() => server.base)
    await rejects(
      'backend_error',
      clientAt(t, server.base).account(issuer.session).context.read({}),
    )
    assert.equal(server.seen.length, 1)
  }
})

describe('renewal', () => {
  test('before the token ends, by the server’s clock', async (t) => {
    const { issuer, read } = await started(t)
    await read()
    issuer.clock.ms += HOUR - 31_000
    await read()
    assert.equal(issuer.counts.renewals, 1)
    issuer.clock.ms += 2_000
    await read()
    assert.deepEqual([issuer.counts.renewals, issuer.counts.stale], [2, 0])
  })

  test('ten at once after its end: one renewal, and all succeed', async (t) => {
    const { issuer, read } = await started(t)
    await read()
    issuer.clock.ms += 2 * HOUR
    const all = await Promise.all(Array.from({ length: 10 }, read))
    assert.deepEqual(all, Array(10).fill(CONTEXT))
    assert.deepEqual([issuer.counts.renewals, issuer.counts.stale], [2, 0])
  })

  test('ten at once at the very start: one renewal', async (t) => {
    const { issuer, read } = await started(t)
    await Promise.all(Array.from({ length: 10 }, read))
    assert.equal(issuer.counts.renewals, 1)
  })

  test('ten at once with a token that the server lost: one renewal', async (t) => {
    const { issuer, read } = await started(t)
    await read()
    issuer.live.clear()
    // All ten are rejected before the first of them is answered.
    const { promise, resolve } = Promise.withResolvers<void>()
    let waiting = 0
    issuer.before = async ({ url }) => {
      if (url === '/device/v1/session') return
      if (++waiting === 10) resolve()
      await promise
    }
    await Promise.all(Array.from({ length: 10 }, read))
    assert.deepEqual([issuer.counts.renewals, issuer.counts.stale], [2, 10])
  })

  test('a late rejection does not end a token renewed meanwhile', async (t) => {
    const { issuer, read } = await started(t)
    await read()
    issuer.live.clear()
    const late = Promise.withResolvers<void>()
    const resolved = Promise.withResolvers<void>()
    let n = 0
    issuer.before = async ({ url }) => {
      if (url !== '/api/v1/context' || n++ > 0) return
      resolved.resolve()
      await late.promise
    }
    const slow = read()
    await resolved.promise
    await read()
    assert.equal(issuer.counts.renewals, 2)
    late.resolve()
    await slow
    assert.equal(issuer.counts.renewals, 2)
  })

  test('while requests run: they succeed with their token', async (t) => {
    const { issuer, read } = await started(t)
    await read()
    const go = Promise.withResolvers<void>()
    const here = Promise.withResolvers<void>()
    let isFirst = true
    issuer.before = async ({ url }) => {
      if (!isFirst || url === '/device/v1/session') return
      isFirst = false
      here.resolve()
      await go.promise
    }
    const running = read()
    await here.promise
    issuer.clock.ms += HOUR - 20_000
    await read()
    assert.equal(issuer.counts.renewals, 2)
    go.resolve()
    assert.deepEqual(await running, CONTEXT)
    assert.equal(issuer.counts.renewals, 2)
  })

  test('an ended session: not signed in, for all waiting calls, after one request', async (t) => {
    const { issuer, server, read } = await started(t)
    await read()
    issuer.live.clear()
    issuer.open = false
    const before = server.seen.length
    await rejects('not_signed_in', read())
    assert.equal(server.seen.length, before + 2)
    await Promise.all(Array.from({ length: 5 }, () => rejects('not_signed_in', read())))
    issuer.open = true
    assert.deepEqual(await read(), CONTEXT, 'the client itself is not spoilt by it')
  })

  test('a server that rejects every token it gave: not signed in, without a loop', async (t) => {
    const { issuer, read } = await started(t)
    issuer.before = async ({ url }) => {
      if (url !== '/device/v1/session') issuer.live.clear()
    }
    await rejects('not_signed_in', read())
    assert.deepEqual([issuer.counts.renewals, issuer.counts.stale], [2, 2])
  })

  test('a server that is unreachable at renewal ends no session, and is asked four times', async (t) => {
    const { issuer, server, read } = await started(t)
    issuer.away = true
    await rejects('backend_unavailable', read())
    assert.equal(server.seen.length, 4)
    issuer.away = false
    assert.deepEqual(await read(), CONTEXT)
  })

  test('a token that is expired on arrival is used all the same', async (t) => {
    const { issuer, read } = await started(t)
    issuer.stated = -HOUR
    await read()
    await read()
    assert.deepEqual([issuer.counts.renewals, issuer.counts.stale], [2, 0])
  })

  test('a rejected proof of another key does not ask for a sign-in', async (t) => {
    const { issuer, remote } = await started(t)
    const other = newIssuer(() => '')
    const stolen = { ...issuer.session, key: other.session.key }
    await rejects('backend_error', remote.account(stolen).context.read({}))
    assert.equal(issuer.counts.renewals, 0)
  })
})

describe('a client with a key, and without a session', () => {
  test('proves the key, and returns errors unchanged', async (t) => {
    const { issuer, remote } = await started(t)
    const { session } = remote.door(issuer.session.key)
    const { access_token } = await session.renew({ body: { refresh_token: 'refresh' } })
    assert.equal(access_token, 'access-1')
    issuer.open = false
    await rejects('invalid_token', session.renew({ body: { refresh_token: 'refresh' } }))
  })

  test('without a key sends no proof', async (t) => {
    const { remote, server } = await started(t)
    const { session } = remote.door()
    await rejects('invalid_token', session.renew({ body: { refresh_token: 'refresh' } }))
    assert.equal(server.seen[0]!.headers['dpop'], undefined)
    assert.equal(server.seen.length, 1)
  })
})

test('no error contains a token, proof or refresh token', async (t) => {
  const server = await scripted(t, (res, { headers, body }) => {
    const echo = `${String(headers.authorization)} ${String(headers['dpop'])} ${body}`
    res.writeHead(200, { 'Content-Type': 'text/plain' }).end(echo)
  })
  const { session } = newIssuer(() => server.base)
  await assert.rejects(
    clientAt(t, server.base).account(session).context.read({}),
    (error: Error) => {
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /refresh"|eyJ/)
      return true
    },
  )
})
