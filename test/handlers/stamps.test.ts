/** The routes of stamps: the list, the file, and the check against what this device stores. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { ListedStamp, StampVerdict } from '../../src/api/rest/stamps.ts'
import type { Stamp } from '../../src/api/rest/stamp.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, signIn } from './people.ts'

const TEXT = 'Offer 12: 4,000 CHF'
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
interface Stamps {
  items: ListedStamp[]
  next_cursor: string | null
}

describe('stamps', () => {
  let [server, other] = [] as unknown as [TestDaemon, TestDaemon]
  let made: Stamp
  let signer: string
  before(async () => {
    server = await startDaemon()
    other = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
    await signIn(other, server, 'fay@example.org')
    await asOwner(other, 'PATCH', '/api/v1/profile', { display_name: 'Fay' })
    const body = { content: TEXT, media_type: 'text/plain', context: 'Offer' }
    made = await asOwner<Stamp>(other, 'POST', '/api/v1/stamp', body)
    const { user } = await asOwner<{ user: { id: string } }>(other, 'GET', '/api/v1/context')
    signer = user.id
  })
  after(async () => {
    await other.close()
    await server.close()
  })

  const fileOf = ({ stamp, key_log, receipt }: Stamp) => ({ stamp, key_log, receipt })
  const check = (daemon: TestDaemon, body: object) =>
    asOwner<StampVerdict>(daemon, 'POST', '/api/v1/stamps/check', body)

  test('the list has what was signed, and the file of each stamp can be read again', async () => {
    const { items } = await asOwner<Stamps>(other, 'GET', '/api/v1/stamps')
    const [first] = items
    assert.equal(items.length, 1)
    const { id, sha256, length, media_type, context, verification_url } = first!
    assert.deepEqual(
      { id, sha256, length, media_type, context, verification_url },
      {
        id: made.id,
        sha256: hashOf(TEXT),
        length: TEXT.length,
        media_type: 'text/plain',
        context: 'Offer',
        verification_url: made.verification_url,
      },
    )
    assert.match(first!.received_at ?? '', /^\d{4}-/)
    assert.deepEqual(await asOwner(other, 'GET', `/api/v1/stamps/${made.id}`), made)
  })

  test('the list is read by pages, newest first', async () => {
    const names = ['a', 'b', 'c']
    for (const content of names) await asOwner(server, 'POST', '/api/v1/stamp', { content })
    const first = await asOwner<Stamps>(server, 'GET', '/api/v1/stamps?limit=2')
    const rest = await asOwner<Stamps>(
      server,
      'GET',
      `/api/v1/stamps?limit=2&cursor=${first.next_cursor}`,
    )
    const hashes = [...first.items, ...rest.items].map(({ sha256 }) => sha256)
    assert.deepEqual(hashes, names.toReversed().map(hashOf))
    assert.equal(rest.next_cursor, null)
  })

  test('a stamp of this account is valid by its file and by its link', async () => {
    const sha256 = hashOf(TEXT)
    for (const given of [{ file: fileOf(made) }, { link: made.verification_url }]) {
      const { valid, stamp } = await check(other, { sha256, ...given })
      assert.deepEqual(
        [valid, stamp?.signer, stamp?.display_name, stamp?.receipt],
        [true, 'own', 'Fay', 'verified'],
      )
    }
  })

  test('a stamp of unknown keys is not judged, and its name is only a claim', async () => {
    const link = made.verification_url
    const { valid, conclusive, reason, stamp } = await check(server, {
      sha256: hashOf(TEXT),
      link,
    })
    assert.deepEqual([valid, conclusive, reason], [false, false, 'signer_unknown'])
    assert.deepEqual(
      [stamp?.account_id, stamp?.display_name, stamp?.name_source],
      [signer, 'Fay', 'self'],
    )
    const rooted = await check(server, { sha256: hashOf(TEXT), link, root: stamp?.root })
    assert.deepEqual([rooted.valid, rooted.stamp?.signer], [true, 'root'])
    const foreign = await check(server, { sha256: hashOf(TEXT), link, root: hashOf('root') })
    assert.deepEqual([foreign.conclusive, foreign.reason], [true, 'other_root'])
  })

  test('a link at a remote account server is read there', async () => {
    const { verification_url: link } = await asOwner<Stamp>(server, 'POST', '/api/v1/stamp', {
      content: TEXT,
    })
    const { reason, stamp } = await check(other, { sha256: hashOf(TEXT), link })
    assert.deepEqual([reason, stamp?.receipt], ['signer_unknown', 'verified'])
  })

  test('a stamp of a followed person is valid', async () => {
    await asOwner(server, 'POST', '/api/v1/trust-cards', { user_id: signer })
    const sha256 = hashOf(TEXT)
    const { valid, stamp } = await check(server, { sha256, link: made.verification_url })
    assert.deepEqual([valid, stamp?.signer], [true, 'remembered'])
    await asOwner(server, 'DELETE', `/api/v1/trust-cards/${signer}`)
  })

  test('other content, another stamp and other links are refused, each with its reason', async () => {
    const sha256 = hashOf(TEXT)
    const [base, hash = ''] = made.verification_url.split('#')
    const [header, payload, signature = ''] = made.stamp.split('.')
    const cases: [object, string, boolean][] = [
      [{ sha256: hashOf('other'), file: fileOf(made) }, 'digest_mismatch', true],
      [{ sha256: hashOf('other'), link: made.verification_url }, 'digest_mismatch', true],
      [{ sha256, link: `${base}#${hash.toLowerCase()}` }, 'other_stamp', true],
      [{ sha256, link: `${base?.slice(0, -26)}${'0'.repeat(26)}#${hash}` }, 'not_found', false],
      [{ sha256, link: 'https://example.org/s/x#y' }, 'other_server', false],
      [
        {
          sha256,
          file: { ...fileOf(made), stamp: `${header}.${payload}.${'A'.repeat(signature.length)}` },
        },
        'bad_signature',
        true,
      ],
    ]
    for (const [body, reason, conclusive] of cases) {
      const verdict = await check(other, body)
      const { valid, stamp } = verdict
      assert.deepEqual(
        { valid, stamp, reason: verdict.reason, conclusive: verdict.conclusive },
        { valid: false, stamp: null, reason, conclusive },
      )
    }
  })
})
