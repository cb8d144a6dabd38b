/** Events and sign-ins: no event of one account reaches a reader after a sign-out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import { EventPage } from '../../src/api/live/page.ts'
import { startAccountServer } from '../account-server.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, signIn } from './people.ts'

const page = async (daemon: TestDaemon, query: string) =>
  v.parse(EventPage, await asOwner(daemon, 'GET', `/api/v1/events?wait=0&${query}`))

test('after a sign-out and another sign-in, an old place leads to a gap, and to no old event', async (t) => {
  const server = await startAccountServer(t)
  const daemon = await startDaemon({ SVC_BACKEND_URL: server.address })
  t.after(() => daemon.close())
  const { account_id: ada } = await signIn(daemon, server, 'ada@example.org')
  await asOwner(daemon, 'POST', '/api/v1/connections', { name: 'Bank' })
  const { since } = await page(daemon, '')
  const waiting = asOwner<{ items: { type: string }[] }>(
    daemon,
    'GET',
    `/api/v1/events?since=${since}&wait=60&types=session.*`,
  )
  await asOwner(daemon, 'POST', '/local/v1/sign-out', { last_device: true })
  assert.deepEqual((await waiting).items, [], 'a reader of the first account gets nothing more')
  const { account_id: bob } = await signIn(daemon, server, 'bob@example.org')
  const { items } = await page(daemon, `since=${since}`)
  assert.deepEqual(
    items.slice(0, 3).map(({ type }) => type),
    ['gap', 'session.ended', 'session.started'],
  )
  const all = JSON.stringify(await page(daemon, 'since=2000-01-01T00:00:00Z'))
  for (const text of [JSON.stringify(items), all]) {
    assert(!text.includes(ada ?? assert.fail('no account')), text)
    assert(!text.includes('Bank'), text)
    assert(text.includes(bob ?? assert.fail('no account')), text)
  }
})
