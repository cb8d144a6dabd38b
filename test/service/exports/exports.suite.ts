/** Exports, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import type { Account } from '../../../src/api/port.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { AppError } from '../../../src/errors.ts'
import type { Engine } from '../engines.ts'
import {
  beside,
  bytesOf,
  exportRow,
  exported,
  fetchFile,
  filesOf,
  linkTo,
  newest,
  partsIn,
  partsOf,
  exportIn,
} from './exports-subject.ts'
import { logEntry } from '../log-rows.ts'
import { connect, enrol, enrolByMail, newAddress, stampOf, type Person } from '../person.ts'
import { openSubject, PUBLIC_URL, type LocalSubject, type Place } from '../subject.ts'
import { rejects } from '../../rejects.ts'
import { until } from '../../until.ts'

const HOUR_MS = 3_600_000
const LINK_MS = 300_000
const WEEK_MS = 7 * 24 * HOUR_MS

/** Returns the text with another character at one position. */
const changed = (text: string, at: number) =>
  text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)

export function exportsSuite(name: string, { newPlace, replicas }: Engine): void {
  let place: Place
  let subject: LocalSubject
  let ada: Person
  let bob: Person
  const open = async () => {
    place = await newPlace()
    subject = await openSubject(place)
    ada = await enrolByMail(subject.server, newAddress(), 'Ada')
    bob = await enrol(subject.server, 'Bob')
  }
  /** Returns the account of a caller without a device; the clock does not end its session. */
  const own = ({ id }: Person): Account =>
    subject.service.as({ account: id, device: null, session: null, token: null })
  /** Replaces all exports of Ada’s with rows as another server left them. */
  const left = async (...more: Parameters<typeof exportRow>[2][]) => {
    await own(ada).exports.clear({})
    const rows = more.map((values) => exportRow(ada.id, subject.clock.ms, values))
    await beside(place, (db) => db.insertInto('exports').values(rows).execute())
    return rows.map(({ id }) => id)
  }
  /** Values of an export that another server builds, with a lease that has not expired. */
  const building = () => ({
    state: 'building' as const,
    builder: 'another',
    builder_until: subject.clock.ms + HOUR_MS,
  })
  const expiredNow = () => ({
    state: 'ready' as const,
    progress: 100,
    size_bytes: 1,
    finished_at: subject.clock.ms - WEEK_MS,
    expires_at: subject.clock.ms,
  })

  describe(`exports: ${name}`, () => {
    before(open)
    after(() => subject.close())

    test('has a file for each resource, with exactly the answers of the routes', async () => {
      const tricks = '<script>alert("1")</script> \u00fc \u{1f512}'
      const { account } = ada
      const tag = await account.tags.create({ body: { name: 'Family', color: null } })
      await account.presets.create({ body: { name: 'Usual', tag_ids: [tag.id] } })
      await account.openLinks.create({ body: { slug: `ada-${Date.now()}` } })
      await account.externalMembers.create({ body: { display_name: tricks } })
      await account.trustCards.create({ body: { user_id: bob.id, note: tricks } })
      await account.emails.create({ body: { address: newAddress() } })
      await account.feedback.send({ body: { message: 'Good', category: 'praise' } })
      await connect(ada)
      const stamped = stampOf(ada)
      const { receipt } = await account.stamps.create({ body: { stamp: stamped.stamp } })
      const turn = {
        id: newId('trn_', subject.clock.ms),
        conversation_id: newId('cnv_', subject.clock.ms),
        message: tricks,
        answer: 'An answer.',
        rating: 'up' as const,
        comment: null,
        created_at: subject.clock.ms,
      }
      await beside(place, (db) =>
        db
          .insertInto('chat_turns')
          .values({ ...turn, account_id: ada.id })
          .execute(),
      )
      const at = subject.clock.ms
      const items = Array.from({ length: 450 }, (_, i) => logEntry(at - i * 60_000))
      for (let i = 0; i < items.length; i += 100)
        await account.verifications.push({ body: { items: items.slice(i, i + 100) } })
      for (let i = 0; i < 3; i++)
        await account.deviceGuestCodes.create({
          body: { id: newId('gst_', at), label: tricks, expires_at: new Date(at).toISOString() },
        })

      const bare = own(ada)
      const cards = await every((query) => bare.trustCards.list(query))
      const expected: Record<string, unknown> = {
        profile: await bare.profile.read({}),
        preferences: await bare.preferences.read({}),
        context: await bare.context.read({}),
        invitations: await bare.invitations.list({}),
        connections: await every((query) => bare.connections.list(query)),
        'guest-codes': await every((query) => bare.guestCodes.list(query)),
        'external-members': await every((query) => bare.externalMembers.list(query)),
        tags: await every((query) => bare.tags.list(query)),
        presets: await every((query) => bare.presets.list(query)),
        'open-links': await every((query) => bare.openLinks.list(query)),
        'open-link-requests': await every((query) => bare.openLinkRequests.list(query)),
        'trust-cards': [
          {
            ...cards[0],
            history: await every((query) => bare.trustCards.history({ id: bob.id, ...query })),
          },
        ],
        'verification-log': await every((query) => bare.verificationLog.list(query)),
        notifications: await every((query) => bare.notifications.list(query)),
        devices: await every((query) => bare.devices.list(query)),
        emails: await every((query) => bare.emails.list(query)),
        'api-tokens': [],
      }
      const ready = await exported(account)
      const sessions = await every((query) => bare.sessions.list(query))
      assert.deepEqual([ready.progress, ready.error], [100, null])
      assert.equal(Date.parse(ready.expires_at!) - Date.parse(ready.finished_at!), WEEK_MS)

      const files = await filesOf(subject.service, account)
      const text = files.get('README.txt')!
      files.delete('README.txt')
      for (const file of files.keys()) assert.ok(text.includes(`  ${file} `), file)
      const found = new Map(
        [...files].map(([file, text]) => [file.replace(/\.json$/, ''), JSON.parse(text)]),
      )
      for (const [file, value] of Object.entries(expected)) assert.deepEqual(found.get(file), value)
      assert.equal(found.get('verification-log').length, 450)
      assert.equal(found.get('external-members')[0].display_name, tricks)
      assert.equal(found.get('trust-cards')[0].history.length, 1)
      assert.deepEqual(
        found.get('sessions').map(({ id }: { id: string }) => id),
        sessions.map(({ id }) => id),
      )
      const { entries } = await account.keyLogs.read({ account: ada.id })
      assert.deepEqual(
        found.get('key-log').map(({ entry }: { entry: string }) => entry),
        entries,
      )
      const [{ id: connection }] = found.get('connections') as [{ id: string }]
      const roster = await account.rosters.read({ connection })
      assert.deepEqual(
        found.get('rosters'),
        roster.entries.map((entry, seq) => ({ connection_id: connection, seq, entry })),
      )
      assert.equal(found.get('feedback')[0].message, 'Good')
      const { id: turn_id, ...chat } = turn
      const created_at = new Date(turn.created_at).toISOString()
      assert.deepEqual(found.get('chat'), [{ turn_id, ...chat, created_at }])
      const { jti: id, stamp } = stamped
      assert.deepEqual(found.get('stamps'), [{ id, stamp, receipt }])
      assert.equal(found.get('exports')[0].id, ready.id)
      const alone = new Set([
        'exports',
        'sessions',
        'key-log',
        'signed-profile',
        'rosters',
        'feedback',
        'chat',
        'stamps',
      ])
      assert.deepEqual(
        [...found.keys()].toSorted(),
        [...Object.keys(expected), ...alone].toSorted(),
      )
    })

    test('no file contains tokens, secrets or their hashes', async () => {
      const secrets = await beside(place, async (db) => [
        ...(await db.selectFrom('sessions').select('refresh_hash as s').execute()),
        ...(await db.selectFrom('access_tokens').select('hash as s').execute()),
        ...(await db.selectFrom('email_claims').select('token_hash as s').execute()),
        ...(await db.selectFrom('server_secrets').select('secret as s').execute()),
      ])
      const { access_token, refresh_token } = ada.enrolment.session
      const all = [...secrets.map(({ s }) => s), access_token, refresh_token].filter(Boolean)
      assert.ok(all.length > 5)
      for (const [file, text] of await filesOf(subject.service, own(ada)))
        for (const secret of all) assert.ok(!text.includes(secret), file)
    })

    test('notifies the requester when it is ready', async () => {
      await own(ada).exports.clear({})
      const { id } = await exported(own(ada))
      const [note] = (await own(ada).notifications.list({})).items
      assert.deepEqual([note!.kind, note!.data], ['export_ready', { export_id: id }])
    })

    describe('states', () => {
      const states = {
        queued: () => ({ state: 'queued' as const }),
        building,
        failed: () => ({ state: 'failed' as const, error: 'No.' }),
        expired: expiredNow,
      }
      for (const [state, values] of Object.entries(states))
        test(`${state}: cannot be downloaded, and the error gives the reason`, async () => {
          const [id] = await left(values())
          const { download } = own(ada).exports
          const error = await rejects('export_not_ready', download({ id: id! }), { state })
          assert.match(
            error.message,
            state === 'failed' || state === 'expired' ? /another/ : /Try again/,
          )
        })

      for (const state of ['queued', 'building'] as const)
        test(`${state}: another one is rejected`, async () => {
          const [id] = await left(state === 'queued' ? {} : building())
          const error = await rejects('conflict', own(ada).exports.create({}))
          assert.match(error.message, new RegExp(id!))
        })

      for (const state of ['failed', 'expired'] as const)
        test(`${state}: another one is created`, async () => {
          const [id] = await left(states[state]())
          await exported(own(ada))
          const { items } = await own(ada).exports.list({})
          assert.deepEqual(
            items.map((one) => [one.state, one.id === id]),
            [
              ['ready', false],
              [state, true],
            ],
          )
        })

      test('ready: another one is created, and both can be downloaded', async () => {
        await own(ada).exports.clear({})
        const first = await exported(own(ada))
        const second = await exported(own(ada))
        for (const { id, size_bytes } of [first, second]) {
          const file = await fetchFile(subject.service, await linkTo(own(ada), id))
          assert.equal((await bytesOf(file)).length, size_bytes)
        }
      })

      test('deletes the export and its file, in every state', async () => {
        await left(states.queued(), building(), states.failed(), states.expired())
        assert.deepEqual(await own(ada).exports.clear({}), { deleted: 4 })
        await exported(own(ada))
        assert.deepEqual(await own(ada).exports.clear({}), { deleted: 1 })
        assert.deepEqual(await own(ada).exports.clear({}), { deleted: 0 })
        assert.deepEqual((await own(ada).exports.list({})).items, [])
        assert.equal(await partsIn(place), 0)
      })
    })

    test('of two concurrent requests one export is built', async () => {
      await own(ada).exports.clear({})
      const asked = await Promise.allSettled([1, 2].map(() => own(ada).exports.create({})))
      assert.deepEqual(asked.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      const refused = asked.find(({ status }) => status === 'rejected') as PromiseRejectedResult
      assert.equal((refused.reason as AppError).code, 'conflict')
      await exportIn(own(ada), 'ready')
    })

    test('requests with the same Idempotency-Key build one export', async () => {
      await own(ada).exports.clear({})
      const keyed = { caller: ada.device, key: 'export', fingerprint: 'x' }
      const create = () => subject.service.once(keyed, async () => own(ada).exports.create({}))
      const first = await create()
      assert.deepEqual(await create(), first)
      assert.equal((await exportIn(own(ada), 'ready')).id, first.id)
      assert.deepEqual(await create(), first)
      assert.equal((await own(ada).exports.list({})).items.length, 1)
    })

    test('an account keeps twenty; the next is rejected until they are deleted', async () => {
      await left(...Array.from({ length: 20 }, () => ({ state: 'failed' as const })))
      const error = await rejects('conflict', own(ada).exports.create({}))
      assert.match(error.message, /Delete/)
      await own(ada).exports.clear({})
      await exported(own(ada))
    })

    test('builds twenty an hour for one account, deleted ones included', async () => {
      const eve = await enrol(subject.server, 'Eve')
      for (let i = 0; i < 20; i++) {
        await own(eve).exports.create({})
        await own(eve).exports.clear({})
      }
      const refused = await rejects('rate_limited', own(eve).exports.create({}))
      assert.ok(Number(refused.headers['Retry-After']) > 0)
      await exported(own(bob))
      subject.clock.ms += HOUR_MS
      await exported(own(eve))
    })

    test('the list has pages, newest first, and rejects a foreign cursor and an invalid limit', async () => {
      const ids = await left(...Array.from({ length: 5 }, () => ({ state: 'failed' as const })))
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = await own(ada).exports.list({ limit: 2, ...(cursor && { cursor }) })
        seen.push(...page.items.map(({ id }) => id))
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      assert.deepEqual(seen, ids.toSorted().toReversed())
      const foreign = encodeBase64url(new TextEncoder().encode(newId('con_', 1)))
      await rejects('bad_request', own(ada).exports.list({ cursor: foreign }))
      await rejects('bad_request', own(ada).exports.list({ cursor: 'x' }))
      for (const limit of [-1, 0, 201])
        await rejects('validation_failed', own(ada).exports.list({ limit }))
    })

    test('exports of another account cannot be seen, downloaded or deleted', async () => {
      await own(ada).exports.clear({})
      await own(bob).exports.clear({})
      const { id } = await exported(own(ada))
      const { exports } = own(bob)
      for (const other of [
        id,
        newId('exp_', 1),
        id.toUpperCase(),
        'exp_',
        '../x',
        newId('con_', 1),
      ])
        assert.equal(
          (await rejects('not_found', exports.download({ id: other }))).message.includes(id),
          false,
        )
      assert.deepEqual(await exports.list({}), { items: [], next_cursor: null })
      assert.deepEqual(await exports.clear({}), { deleted: 0 })
      assert.equal((await newest(own(ada))).id, id)
    })

    describe('the link', () => {
      test('is signed, valid for five minutes, and returns a named file', async () => {
        await own(ada).exports.clear({})
        const { id, size_bytes } = await exported(own(ada))
        const { url, expires_at } = await own(ada).exports.download({ id })
        assert.ok(url.startsWith(`${PUBLIC_URL}/exports/${id}?expires=`), url)
        assert.equal(Date.parse(expires_at), Math.floor((subject.clock.ms + LINK_MS) / 1000) * 1000)
        const { type, headers } = await fetchFile(subject.service, await linkTo(own(ada), id))
        assert.equal(type, 'application/zip')
        const day = new Date(subject.clock.ms).toISOString().slice(0, 10)
        assert.deepEqual(headers, {
          'Content-Disposition': `attachment; filename="countersign-export-${day}.zip"`,
          'Content-Length': String(size_bytes),
        })
      })

      test('is rejected with one byte changed anywhere', async () => {
        const link = await linkTo(own(ada), (await newest(own(ada))).id)
        const wrong = [
          ...(['id', 'expires', 'signature'] as const).flatMap((part) =>
            Array.from(link[part], (_, at) => ({ ...link, [part]: changed(link[part], at) })),
          ),
          { ...link, expires: `${link.expires}.0` },
          { ...link, expires: `0${link.expires}` },
          { ...link, expires: `+${link.expires}` },
          { ...link, expires: '' },
          { ...link, signature: '' },
          { ...link, signature: `${link.signature}=` },
          { ...link, signature: link.signature.slice(1) },
          { ...link, signature: '\u00e9'.repeat(43) },
          { ...link, id: '' },
        ]
        assert.ok(wrong.length > 80)
        for (const other of wrong) await rejects('not_found', fetchFile(subject.service, other))
        await fetchFile(subject.service, link)
      })

      test('is rejected after five minutes, after deletion, and after the export expired', async () => {
        const { id } = await newest(own(ada))
        const link = await linkTo(own(ada), id)
        subject.clock.ms += LINK_MS - 1000
        await fetchFile(subject.service, link)
        subject.clock.ms += 1000
        await rejects('not_found', fetchFile(subject.service, link))

        const again = await linkTo(own(ada), id)
        await own(ada).exports.clear({})
        await rejects('not_found', fetchFile(subject.service, again))

        const ready = await exported(own(ada))
        subject.clock.ms = Date.parse(ready.expires_at!) - 10_000
        const last = await own(ada).exports.download({ id: ready.id })
        assert.ok(Date.parse(last.expires_at) <= Date.parse(ready.expires_at!))
        const soon = await linkTo(own(ada), ready.id)
        subject.clock.ms += 10_000
        await rejects('not_found', fetchFile(subject.service, soon))
        assert.equal((await newest(own(ada))).state, 'expired')
      })

      test('made with a daemon’s token ends with that token, at the latest', async () => {
        await own(ada).exports.clear({})
        const { id: export_id } = await exported(own(ada))
        const { downloads } = own(ada)
        const [token_id, other] = [newId('tok_', subject.clock.ms), newId('tok_', subject.clock.ms)]
        const linkFor = async (token: string, expiresAt: number | null = null) => {
          const token_expires_at = expiresAt === null ? null : new Date(expiresAt).toISOString()
          const body = { export_id, token_id: token, token_expires_at }
          return partsOf((await downloads.create({ body })).url)
        }
        const [link, remaining] = [await linkFor(token_id), await linkFor(other)]
        for (const one of [link, remaining]) await fetchFile(subject.service, one)
        const stolen = { ...link, holder: other }
        await rejects('not_found', fetchFile(subject.service, stolen))
        await rejects('not_found', fetchFile(subject.service, { ...link, holder: '' }))

        await own(bob).downloads.end({ id: token_id })
        await fetchFile(subject.service, link)
        await downloads.end({ id: token_id })
        await downloads.end({ id: token_id })
        await rejects('not_found', fetchFile(subject.service, link))
        // A link of a request that was already on its way.
        await rejects('not_found', fetchFile(subject.service, await linkFor(token_id)))
        await fetchFile(subject.service, remaining)

        const brief = await linkFor(other, subject.clock.ms + 60_000)
        subject.clock.ms += 60_000
        await rejects('not_found', fetchFile(subject.service, brief))
        await fetchFile(subject.service, remaining)
      })

      test('made with a token of a machine account or of its daemon ends with the token and with a suspension', async () => {
        const owner = own(ada)
        const { id: organisation_id } = await owner.organisations.create({ body: { name: 'Acme' } })
        const key = newDeviceKeys().auth.jwk
        const { machine_id: account_id } = await owner.machines.create({
          body: { organisation_id, name: 'Robot', key },
        })
        const machine = (token: string | null) =>
          subject.service.as({ account: account_id, device: null, session: null, token })
        const { id: export_id } = await exported(machine(null))
        const newLink = async (body: { scope: 'read'; name: string; expires_in?: number }) => {
          const { id } = await machine(null).machineTokens.create({ body })
          return { id, link: await linkTo(machine(id), export_id) }
        }
        const [revoked, brief, remaining] = [
          await newLink({ name: 'a', scope: 'read' }),
          await newLink({ name: 'b', scope: 'read', expires_in: 60 }),
          await newLink({ name: 'c', scope: 'read' }),
        ]
        for (const { link } of [revoked, brief, remaining]) await fetchFile(subject.service, link)
        const { downloads } = machine(null)
        const [ended, lasting] = [newId('tok_', subject.clock.ms), newId('tok_', subject.clock.ms)]
        const linkFor = async (token_id: string) =>
          partsOf(
            (await downloads.create({ body: { export_id, token_id, token_expires_at: null } })).url,
          )
        const [over, daemons] = [await linkFor(ended), await linkFor(lasting)]
        for (const link of [over, daemons]) await fetchFile(subject.service, link)
        await downloads.end({ id: ended })
        await rejects('not_found', fetchFile(subject.service, over))
        await fetchFile(subject.service, daemons)
        await machine(null).machineTokens.delete({ id: revoked.id })
        await rejects('not_found', fetchFile(subject.service, revoked.link))
        subject.clock.ms += 60_000
        await rejects('not_found', fetchFile(subject.service, brief.link))
        await fetchFile(subject.service, remaining.link)
        const suspend = (state: 'suspended' | 'active') =>
          beside(place, (db) =>
            db
              .updateTable('organisation_members')
              .set({ state })
              .where('account_id', '=', account_id)
              .execute(),
          )
        await suspend('suspended')
        for (const link of [remaining.link, daemons])
          await rejects('not_found', fetchFile(subject.service, link))
        await suspend('active')
        for (const link of [remaining.link, daemons]) await fetchFile(subject.service, link)
      })

      test('returns no file of an unfinished export, or of one deleted during the download', async () => {
        await own(ada).exports.clear({})
        const { id } = await exported(own(ada))
        const link = await linkTo(own(ada), id)
        const file = await fetchFile(subject.service, link)
        const set = (state: 'building' | 'failed' | 'queued' | 'ready') =>
          beside(place, (db) => db.updateTable('exports').set({ state }).execute())
        for (const state of ['building', 'failed', 'queued'] as const) {
          await set(state)
          await rejects('not_found', fetchFile(subject.service, link))
        }
        await set('ready')
        await own(ada).exports.clear({})
        await rejects('not_found', bytesOf(file))
      })

      test('works at every replica', { skip: !replicas }, async () => {
        await exported(own(ada))
        const link = await linkTo(own(ada), (await newest(own(ada))).id)
        const other = await openSubject(place, subject.clock)
        const [here, there] = await Promise.all(
          [subject, other].map(async ({ service }) => bytesOf(await fetchFile(service, link))),
        )
        assert.deepEqual(here, there)
        await other.close()
      })
    })

    test('deletes the file of an expired export; the export stays listed', async () => {
      await own(ada).exports.clear({})
      await own(bob).exports.clear({})
      await exported(own(ada))
      assert.ok((await partsIn(place)) > 0)
      subject.clock.ms += WEEK_MS
      // The next build deletes it.
      await exported(own(bob))
      const { id } = await newest(own(bob))
      const others = () =>
        beside(place, (db) =>
          db.selectFrom('export_parts').select('seq').where('export_id', '!=', id).execute(),
        )
      await until('no part of another export', async () => (await others()).length === 0)
      assert.equal((await newest(own(ada))).state, 'expired')
      assert.ok((await partsIn(place)) > 0)
    })
  })
}
