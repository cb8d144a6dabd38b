/** A daemon that is killed while it delivers events: none is lost, and the order is kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandLineToken } from '../../src/auth/proof.ts'
import { firstIdAt } from '../../src/crypto/encoding/id.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'
import { type Answer, ask } from '../daemon.ts'
import { type Running, folder, startDaemon } from '../e2e/program.ts'
import { newReceiver, withStatus } from './bench.ts'

const ROUNDS = 4
const EVENTS = 25

const ownerOf = ({ stateDir }: Running) =>
  commandLineToken(stateSecret(stateDir), (readRuntime(stateDir) as Runtime).nonce)

/** Creates tokens, which are events, until the daemon is gone or there are enough. */
async function act({ address }: Running, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const body = { name: `token ${n}`, scope: 'read' }
    const answer = await ask(address, 'POST', '/api/v1/token', { body }).catch(() => null)
    if (answer === null) return
  }
}

/** Returns the ids of all stored events of a type, in order. */
async function stored(daemon: Running): Promise<string[]> {
  const ids: string[] = []
  let since = firstIdAt('evt_', 0)
  for (;;) {
    const path = `/api/v1/events?since=${since}&types=token.created&wait=0`
    const { json }: Answer = await ask(daemon.address, 'GET', path, { token: ownerOf(daemon) })
    const page = json as { items: { id: string }[]; since: string }
    if (page.items.length === 0) return ids
    ids.push(...page.items.map(({ id }) => id))
    since = page.since
  }
}

test('SIGKILL while events are delivered loses none, and keeps the order', async (t) => {
  const place = folder()
  t.after(() => place.remove())
  const receiver = await newReceiver(t)
  let daemon = await startDaemon(place.path)
  t.after(() => daemon.end('SIGKILL'))
  const body = { url: receiver.url, types: ['token.created'] }
  const { status } = await ask(daemon.address, 'POST', '/api/v1/webhooks', {
    token: ownerOf(daemon),
    body,
  })
  assert.equal(status, 201)

  for (let round = 0; round < ROUNDS; round++) {
    // The kill hits a delivery: the receiver has the event, and has not answered.
    const killAt = receiver.got.length + 1 + ((round * 7) % EVENTS)
    receiver.answer((res, req) => {
      if (receiver.got.length < killAt) withStatus(200)(res, req)
    })
    const acting = act(daemon, EVENTS)
    await receiver.arrived(killAt)
    await daemon.end('SIGKILL')
    await acting
    receiver.answer(withStatus(200))
    daemon = await startDaemon(place.path)
  }
  await act(daemon, 1)
  const events = await stored(daemon)
  const last = events.at(-1)
  while (receiver.got.at(-1)?.event.id !== last) await receiver.arrived(receiver.got.length + 1)

  const got = receiver.got.map(({ event }) => event.id)
  // At least once: an event is repeated only directly after itself.
  assert.deepEqual(
    got.filter((id, at) => id !== got[at - 1]),
    events,
  )
  assert(got.length >= events.length + ROUNDS, 'each kill hit a delivery')
})
