/** Events of the lists that the account server supplies: without a sync that anyone requests. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { EventPage } from '../../src/api/live/page.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'

type Item = v.InferOutput<typeof EventPage>['items'][number]

describe('events of lists', () => {
  let daemon: TestDaemon
  let token: string

  async function good<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, json, text } = await daemon.request(method, `/api/v1${path}`, { token, body })
    assert(status < 300, `${method} ${path}: ${text}`)
    return json as T
  }

  before(async () => {
    daemon = await startDaemon()
    token = daemon.owner()
    // The first look at the lists reports nothing.
    await good('POST', '/sync')
  })
  after(() => daemon.close())

  /** Does something, and returns the next `count` events of these types. */
  async function eventsOf(types: string, count: number, act: () => Promise<unknown>) {
    const read = async (query: string) =>
      v.parse(EventPage, await good('GET', `/events?types=${types}&${query}`))
    let { since } = await read('wait=0')
    await act()
    const found: Item[] = []
    while (found.length < count) {
      const page = await read(`since=${since}&wait=60`)
      found.push(...page.items)
      ;({ since } = page)
    }
    return found.map(({ type, data }) => [type, data])
  }

  test('an invitation is sent and withdrawn', async () => {
    const { id: connection_id } = await good<{ id: string }>('POST', '/connections', { name: 'A' })
    const [sent] = await eventsOf('invitation.*', 1, () =>
      good('POST', `/connections/${connection_id}/members`, { email: 'bob@example.org' }),
    )
    const invited = await good<{ sent: { id: string }[] }>('GET', '/invitations')
    const data = { invitation_id: invited.sent[0]?.id, connection_id, direction: 'sent' }
    assert.deepEqual(sent, ['invitation.sent', data])
    const [withdrawn] = await eventsOf('invitation.*', 1, () =>
      good('POST', `/invitations/${data.invitation_id}/withdraw`),
    )
    assert.deepEqual(withdrawn, ['invitation.withdrawn', data])
  })

  test('an export is requested and ready, with a notification that is then read', async () => {
    let export_id = ''
    const built = await eventsOf('export.*', 2, async () => {
      export_id = (await good<{ id: string }>('POST', '/exports')).id
    })
    assert.deepEqual(built, [
      ['export.requested', { export_id }],
      ['export.ready', { export_id }],
    ])
    const read = await eventsOf('notification.read', 1, () => good('POST', '/notifications/read'))
    const { items } = await good<{ items: { id: string; kind: string }[] }>('GET', '/notifications')
    assert.deepEqual(read, [
      ['notification.read', { notification_id: items[0]?.id, kind: items[0]?.kind }],
    ])
  })

  test('an organisation is joined', async () => {
    let organisation_id = ''
    const joined = await eventsOf('org.*', 1, async () => {
      organisation_id = (await good<{ id: string }>('POST', '/org', { name: 'Acme' })).id
    })
    assert.deepEqual(joined, [['org.joined', { organisation_id, name: 'Acme' }]])
  })

  test('a token without full scope gets no events of organisations', async () => {
    const read = await daemon.token('read')
    const ask = (query: string) =>
      daemon.request('GET', `/api/v1/events?wait=0&since=2000-01-01T00:00:00Z${query}`, {
        token: read,
      })
    const { json } = await ask('')
    const { items } = v.parse(EventPage, json)
    assert(items.length > 0 && items.every(({ type }) => !type.startsWith('org.')))
    for (const types of ['org.joined', 'org.*,token.*']) {
      const { status, json: refused } = await ask(`&types=${types}`)
      assert.deepEqual(
        [status, (refused as { required_scope: string }).required_scope],
        [403, 'full'],
      )
    }
  })
})
