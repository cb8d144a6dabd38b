/** Connections complete through background syncs alone: no test calls sync. */
import assert from 'node:assert/strict'
import { type TestContext, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { approveDevice, asOwner, signIn } from '../handlers/people.ts'
import { until } from '../until.ts'

interface Words {
  readonly words: string
}

/** Starts an account server and daemons with signed-in users. */
async function place(t: TestContext) {
  const daemons: TestDaemon[] = []
  t.after(async () => {
    for (const daemon of daemons.toReversed()) await daemon.close()
  })
  const started = async (env: Record<string, string> = {}) => {
    const daemon = await startDaemon(env)
    daemons.push(daemon)
    return daemon
  }
  const server = await started()
  const signedIn = async (name: string) => {
    const daemon = await started({ SVC_BACKEND_URL: server.accountAddress })
    await signIn(daemon, server, `${name}@example.org`)
    return daemon
  }
  return { server, signedIn }
}

/** Returns the words of a daemon’s user, once they exist. */
const wordsOf = (daemon: TestDaemon, connection: string): Promise<string> =>
  until(`words of ${connection}`, async () => {
    const { status, json } = await daemon.request('GET', `/api/v1/connections/${connection}/code`, {
      token: daemon.owner(),
    })
    return status === 200 ? (json as Words).words : undefined
  })

/** Asserts that each daemon verifies the words of the other as those of a member. */
async function assertConnected(a: TestDaemon, b: TestDaemon, connection: string): Promise<void> {
  for (const [speaker, listener] of [
    [b, a],
    [a, b],
  ] as const) {
    const words = await wordsOf(speaker, connection)
    const { verified } = await asOwner<{ verified: boolean }>(listener, 'POST', '/api/v1/verify', {
      words,
    })
    assert.equal(verified, true)
  }
}

const approve = async (daemon: TestDaemon) => {
  const { received } = await asOwner<{ received: { id: string }[] }>(
    daemon,
    'GET',
    '/api/v1/invitations/pending',
  )
  await asOwner(daemon, 'POST', `/api/v1/invitations/${received[0]?.id}/approve`)
}

it('an approved invitation leads to words on both sides at once', async (t) => {
  const { signedIn } = await place(t)
  const [ada, bob] = [await signedIn('ada'), await signedIn('bob')]
  const { id } = await asOwner<{ id: string }>(ada, 'POST', '/api/v1/connections', {
    name: 'Ada and Bob',
    invite: [{ email: 'bob@example.org' }],
  })
  await approve(bob)
  await assertConnected(ada, bob, id)
})

it('a member invited later gets words at once, too', async (t) => {
  const { signedIn } = await place(t)
  const [ada, bob] = [await signedIn('ada'), await signedIn('bob')]
  const { id } = await asOwner<{ id: string }>(ada, 'POST', '/api/v1/connections', { name: 'A' })
  const email = 'bob@example.org'
  await asOwner(ada, 'POST', `/api/v1/connections/${id}/members`, { email })
  await approve(bob)
  await assertConnected(ada, bob, id)
})

it('a further device gets the words of its account’s connections at once', async (t) => {
  const { signedIn } = await place(t)
  const laptop = await signedIn('ada')
  const { id } = await asOwner<{ id: string }>(laptop, 'POST', '/api/v1/connections', { name: 'A' })
  const phone = await signedIn('ada')
  await approveDevice(laptop, phone)
  assert.match(await wordsOf(phone, id), /^\w+ \w+ \w+$/)
})

it('a device that begins to wait for approval shows on the other device at once, until declined', async (t) => {
  const { signedIn } = await place(t)
  const ada = await signedIn('ada')
  // Changes arrive by the stream only once it is open.
  await ada.logged('changes arrive by a stream')
  const waiting = async () =>
    (await asOwner<{ waiting_devices: { id: string }[] }>(ada, 'GET', '/api/v1/status'))
      .waiting_devices
  assert.deepEqual(await waiting(), [])
  await signedIn('ada')
  await ada.logged('device waits for approval')
  const [{ id } = assert.fail()] = await waiting()
  await asOwner(ada, 'DELETE', `/api/v1/devices/${id}`)
  await ada.logged('waiting device declined')
  assert.deepEqual(await waiting(), [])
})
