/** The commands of open links. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { ask } from '../daemon.ts'
import { confirmationIn } from '../service/letters.ts'
import { call } from './calling.ts'
import { type CliFixture, newCliFixture } from './cli-fixture.ts'

/** Submits a request on the page of a link, and confirms it by mail. */
async function asks(
  { mailDir }: CliFixture,
  url: string,
  email: string,
  message = '',
): Promise<void> {
  const { origin, pathname } = new URL(url)
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const body = String(new URLSearchParams({ display_name: 'Gus', email, message }))
  assert.equal((await ask(origin, 'POST', pathname, { headers, body })).status, 200)
  const { pathname: path } = new URL(await confirmationIn(mailDir, email))
  assert.equal((await ask(origin, 'POST', path, { headers, body: '' })).status, 200)
}

test('a link is made, used and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  // The page is public, so it needs a name instead of the address.
  for (const one of [ada, bob]) await one.good(['profile', 'set', '--name', 'A person'])
  const proposed = await ada.json('link', 'suggest')
  assert.match(proposed.slug, /^[a-z0-9-]{3,40}$/)
  assert.deepEqual(await ada.json('link', 'list'), { items: [] })
  const made = await ada.good(['link', 'create', '--title', 'Desk\u00e9', '--slug', 'the-desk'])
  assert.match(made.out, /^http:\/\/127\.0\.0\.1:\d+\/o\/the-desk\n$/)
  const [id = ''] = /lnk_\w{26}/.exec(made.err) ?? []
  assert.match(await bob.refused('link', 'create', '--slug', 'the-desk'), /"the-desk" is taken/)
  assert.match(await bob.refused('link', 'create', '--slug', 'X'), /3 to 40 characters of a-z/)
  assert.match(await bob.refused('link', 'pause', id), /no open link with this id/)

  const url = made.out.trim()
  await asks(fixture, url, bob.email, 'Hello\nthere')
  await asks(fixture, url, 'carl@example.org')
  const listed = await ada.good(['link', 'list'])
  assert.match(listed.out, new RegExp(`^${id}  active  2 +Deské  ${url}$`, 'm'))
  const requests = await ada.good(['link', 'requests'])
  assert.match(requests.out, /^req_\w{26} {2}pending {2}bob@example\.org +Gus .* Hello there$/m)
  const { items } = await ada.json('link', 'requests')
  const [carls, bobs] = items
  assert.deepEqual(
    [carls, bobs].map(({ requester, message }) => [requester.email, message]),
    [
      ['carl@example.org', null],
      ['bob@example.org', 'Hello\nthere'],
    ],
  )

  assert.equal(
    (await ada.good(['link', 'decline', carls.id])).err,
    'Declined "Gus" <carl@example.org>.\n',
  )
  assert.match(await ada.refused('link', 'approve', carls.id), /declined/)
  for (let i = 0; i < 2; i++) {
    const approved = await ada.good(['link', 'approve', bobs.id])
    assert.match(approved.out, /^con_\w{26}\n$/)
    assert.equal(
      approved.err,
      'Approved "Gus" <bob@example.org>. They get an invitation by mail.\n',
    )
  }
  assert.match(await ada.refused('link', 'decline', bobs.id), /"countersignd connection leave"/)
  assert.match(await bob.refused('link', 'approve', bobs.id), /no request with this id/)
  const { received } = await bob.json('invite', 'list')
  await bob.good(['invite', 'approve', received[0].id])
  for (const one of [ada, bob]) await one.good(['sync'])
  assert.match((await bob.good(['connection', 'list'])).out, /active/)

  assert.equal((await ada.good(['link', 'pause', id])).err, `Paused ${url}.\n`)
  assert.equal((await ada.json('link', 'pause', id)).state, 'paused')
  assert.equal((await ada.good(['link', 'resume', id])).err, `${url} accepts requests again.\n`)
  const result = await ada.good(['link', 'slug', id, 'new-desk'])
  assert.equal(result.out, `${url.replace('the-desk', 'new-desk')}\n`)
  assert.equal((await ada.good(['link', 'delete', id])).err, `Deleted ${id}.\n`)
  assert.match(await ada.refused('link', 'delete', id), /"countersignd link list" lists the ids/)
  assert.deepEqual(await ada.json('link', 'requests'), { items: [] })
})

describe('errors name commands of the command line', () => {
  const id = `req_${'0'.repeat(26)}`
  const cases: [command: string, state: string, says: RegExp][] = [
    ['approve', 'self', /your own e-mail address\. Decline it/],
    ['approve', 'declined', /^as the server says$/m],
    ['decline', 'approved', /To end the connection, use .*"countersignd connection delete"/],
  ]
  for (const [command, state, says] of cases)
    it(`${command}: ${state}`, async () => {
      const refuse = async () => {
        throw new AppError('invalid_state', 'as the server says', { details: { state } })
      }
      const api = { openLinkRequests: { [command]: refuse } } as unknown as Api
      const { code, out, err } = await call(api, [`link ${command}`, id])
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })

  it('names are printed without terminal controls', async () => {
    const requester = { display_name: 'a\u001b[2Jb\u202e', email: 'a@example.org' }
    const item = { id, state: 'pending', requester, message: '\u001b]0;x\u0007', created_at: '' }
    const api = {
      openLinkRequests: { list: async () => ({ items: [item], next_cursor: null }) },
    } as unknown as Api
    const { out } = await call(api, ['link requests'])
    for (const one of ['\u001b', '\u0007', '\u202e']) assert(!out.includes(one))
  })
})
