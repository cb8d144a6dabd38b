/** Tests calls over HTTP that omit values with one sensible default. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation, asOwner } from './people.ts'

describe('calls without what has a default', () => {
  let daemon: TestDaemon
  before(async () => {
    daemon = await startDaemon()
  })
  after(() => daemon.close())

  it('GET /api/v1/org/analytics/trends counts all activity by day', async () => {
    await activeOrganisation(daemon)
    const path = '/api/v1/org/analytics/trends'
    const usual = await asOwner<object>(daemon, 'GET', path)
    assert.partialDeepStrictEqual(usual, { metric: 'activity', bucket: 'day' })
    assert.deepEqual(usual, await asOwner(daemon, 'GET', `${path}?metric=activity&bucket=day`))
  })

  it('POST /api/v1/guest-codes/{id}/send mails the link to the external member', async () => {
    const member = { display_name: 'Ann', email: 'ann@example.org' }
    const { id } = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/external-members', member)
    const code = { label: 'Ann', external_member_id: id }
    const made = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/guest-codes', code)
    for (const body of [undefined, {}, { channel: 'email' }]) {
      const { status, text } = await daemon.request('POST', `/api/v1/guest-codes/${made.id}/send`, {
        token: daemon.owner(),
        body,
      })
      assert.equal(status, 202, text)
    }
  })
})
