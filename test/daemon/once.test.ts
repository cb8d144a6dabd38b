/** Idempotency-Key at a daemon, with each kind of account server. */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { lossyLine } from './lossy.ts'
import { asOwner, newMachine, signIn } from '../handlers/people.ts'

let server: TestDaemon
let remote: TestDaemon
before(async () => {
  server = await startDaemon()
  remote = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
  await signIn(remote, server, 'cleo@example.org')
})
after(async () => {
  await remote.close()
  await server.close()
})

const connections = async (daemon: TestDaemon) =>
  (await asOwner<{ items: { name: string }[] }>(daemon, 'GET', '/api/v1/connections')).items

const create = (daemon: TestDaemon, key: string, name: string, token = daemon.owner()) =>
  daemon.request('POST', '/api/v1/connections', {
    token,
    body: { name },
    headers: { 'Idempotency-Key': key },
  })

for (const [place, of] of [
  ['its own process', () => server],
  ['another process', () => remote],
] as const)
  describe(`an Idempotency-Key with an account server in ${place}`, () => {
    it('a repetition gets the first answer, and nothing runs twice', async () => {
      const first = await create(of(), 'one', 'Bank')
      const again = await create(of(), 'one', 'Bank')
      assert.deepEqual([first.status, again.status, again.json], [201, 201, first.json])
      assert.equal(again.headers.location, first.headers.location)
      assert.deepEqual(
        (await connections(of())).map(({ name }) => name),
        ['Bank'],
      )
      const other = await create(of(), 'one', 'Another')
      assert.equal((other.json as { error: string }).error, 'idempotency_mismatch')
    })

    it('a key belongs to one token', async () => {
      const tokens = [await of().token('write'), await of().token('write')]
      for (const token of tokens)
        assert.equal((await create(of(), 'two', 'Shop', token)).status, 201)
      const shops = (await connections(of())).filter(({ name }) => name === 'Shop')
      assert.equal(shops.length, 2)
    })

    it('a repeated stamp is the same stamp', async () => {
      const stamp = () =>
        of().request('POST', '/api/v1/stamp', {
          token: of().owner(),
          body: { content: 'x' },
          headers: { 'Idempotency-Key': 'three' },
        })
      const first = await stamp()
      assert.equal(first.status, 201)
      assert.deepEqual((await stamp()).json, first.json)
    })
  })

it('the next account does not get stored answers of the previous one', async () => {
  const daemon = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
  try {
    await signIn(daemon, server, 'dora@example.org')
    const first = await create(daemon, 'key', 'Bank')
    await asOwner(daemon, 'POST', '/local/v1/sign-out', { last_device: true })
    assert.equal(
      ((await create(daemon, 'key', 'Bank')).json as { error: string }).error,
      'not_signed_in',
    )
    await signIn(daemon, server, 'eve@example.org')
    const second = await create(daemon, 'key', 'Bank')
    assert.equal(second.status, 201)
    assert.notEqual((second.json as { id: string }).id, (first.json as { id: string }).id)
  } finally {
    await daemon.close()
  }
})

it('keys of a machine token are separate from the owner’s', async () => {
  const machine = await newMachine(server)
  const csm = await machine.token('full')
  await create(server, 'shared', 'Owned')
  const { json } = await create(server, 'shared', 'Owned', csm)
  assert.equal((json as { error: string }).error, 'no_device')
})

describe('repeated with its key after every answer of the server was lost', () => {
  /** Starts a daemon that has to ask twice: the first response on this path is lost. */
  async function twice(t: TestContext, muted: string, path: string, body: object) {
    const line = await lossyLine(t)
    const far = await startDaemon({ SVC_PUBLIC_URL: line.address })
    t.after(() => far.close())
    line.target = far.accountAddress
    const daemon = await startDaemon({ SVC_BACKEND_URL: line.address })
    t.after(() => daemon.close())
    await signIn(daemon, far, 'gil@example.org')
    const headers = { 'Idempotency-Key': 'once' }
    const ask = () => daemon.request('POST', path, { token: daemon.owner(), body, headers })
    line.mute.add(muted)
    const lost = await ask()
    line.mute.clear()
    return { daemon, lost, response: await ask() }
  }

  it('a connection is the same one', async (t) => {
    const body = { name: 'Bank' }
    const { daemon, lost, response } = await twice(
      t,
      '/device/v1/rosters',
      '/api/v1/connections',
      body,
    )
    assert(lost.status >= 500, lost.text)
    assert.equal(response.status, 201, response.text)
    assert.deepEqual(
      (await connections(daemon)).map(({ name }) => name),
      ['Bank'],
    )
    const { id } = response.json as { id: string }
    await asOwner(daemon, 'GET', `/api/v1/connections/${id}/code`)
  })

  it('a stamp is the same one, valid without its receipt, which the next sync fetches', async (t) => {
    const { daemon, lost, response } = await twice(t, '/device/v1/stamps', '/api/v1/stamp', {
      content: 'x',
    })
    assert.deepEqual([lost.status, response.status], [201, 201])
    assert.deepEqual(response.json, lost.json)
    assert.equal((response.json as { receipt: null }).receipt, null)
    const synced = await asOwner<object>(daemon, 'POST', '/api/v1/sync')
    assert.partialDeepStrictEqual(synced, { last_sync: { ok: true } })
  })
})
