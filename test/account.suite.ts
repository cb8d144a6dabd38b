/**
 * What an account is, whoever answers: one suite for the embedded server on SQLite, on PostgreSQL, and for a server far away.
 * It speaks through the port alone.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../src/api/port.ts'
import type { Details } from '../src/errors.ts'
import { newDeviceKeys } from '../src/crypto/device-keys.ts'
import { newId } from '../src/crypto/id.ts'
import { thumbprint } from '../src/crypto/jwk.ts'
import { verifyStamp } from '../src/crypto/stamp.ts'
import {
  connect,
  enrol,
  enrolmentOf,
  newMaker,
  opening,
  stampOf,
  tampered,
  type Person,
  type Server,
} from './service/person.ts'

export interface Subject {
  readonly server: Server
  /** The server's clock, in Unix milliseconds; the suite sets it. */
  readonly clock: { ms: number }
  readonly close: () => Promise<void>
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Call = (account: Account) => Promise<unknown>

/** What both an AppError and a remote account's error show. */
interface Fault extends Error {
  readonly code?: unknown
  readonly details?: Details
}

/** Rejects with this code. */
const fails = (code: string, promise: Promise<unknown>) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, code, error.message)
    return true
  })

/** Rejects because of this member of the body. */
const isInvalid = (path: string, reason: string, promise: Promise<unknown>) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, 'validation_failed', error.message)
    const [issue] = error.details?.issues ?? []
    assert.equal(issue?.path, path)
    assert.match(issue.message, new RegExp(reason))
    return true
  })

/** Every item of a list, page by page. */
export async function everything<T>(
  list: (page: {
    limit?: number
    cursor?: string
  }) => Promise<{ items: T[]; next_cursor: string | null }>,
  limit: number,
): Promise<T[][]> {
  const pages: T[][] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await list({ limit, ...(cursor === undefined ? {} : { cursor }) })
    pages.push(page.items)
    cursor = page.next_cursor
  }
  return pages
}

export function accountSuite(name: string, open: () => Promise<Subject>): void {
  describe(`account: ${name}`, () => {
    let subject: Subject
    let server: Server
    before(async () => {
      subject = await open()
      server = subject.server
    })
    after(() => subject.close())

    const later = (ms: number) => {
      subject.clock.ms += ms
    }
    const time = () => new Date(subject.clock.ms).toISOString()
    const rejected = (accessToken: string) =>
      assert.rejects(
        async () => (await server.account(accessToken)).context.read({}),
        // Behind a daemon the server's 401 is never shown as the caller's.
        ({ code }: { code?: unknown }) => code === 'invalid_token' || code === 'not_signed_in',
      )
    const newGuest = (
      account: Account,
      { label = 'Plumber', expires_at = new Date(subject.clock.ms + HOUR).toISOString() } = {},
      id = newId('gst_', Date.now()),
    ) => account.deviceGuestCodes.create({ body: { id, label, expires_at } })

    describe('enrolment', () => {
      test('makes the account that the entry names', async () => {
        const ada = await enrol(server, 'Ada')
        assert.equal(ada.enrolment.account_id, ada.id)
        assert.equal(ada.enrolment.device_id, ada.device)
        assert.deepEqual(await ada.account.context.read({}), {
          user: { id: ada.id, display_name: 'Ada', email: null, kind: 'person' },
          organisations: [],
        })
        const log = await ada.account.keyLogs.read({ account: ada.id })
        assert.deepEqual(log.entries, [ada.entry])
      })

      test('every server has one receipt key', async () => {
        const [a, b] = [await enrol(server), await enrol(server)]
        assert.equal(a.enrolment.receipt_key.crv, 'Ed25519')
        assert.deepEqual(a.enrolment.receipt_key, b.enrolment.receipt_key)
      })

      test('the same entry with its code again: another session of the same device', async () => {
        const maker = newMaker()
        const body = enrolmentOf(maker, await server.newEnrolmentCode())
        const one = await server.door.enrolment.create(body)
        const two = await server.door.enrolment.create(body)
        assert.equal(two.account_id, maker.id)
        assert.notEqual(two.session.session_id, one.session.session_id)
        for (const { session } of [one, two]) {
          const account = await server.account(session.access_token)
          assert.equal((await account.context.read({})).user.id, maker.id)
        }
      })

      test('a code of its own opens an account that exists; anybody else’s code does not', async () => {
        const ada = await enrol(server)
        const free = await server.newEnrolmentCode()
        await fails('conflict', server.door.enrolment.create(enrolmentOf(ada, free)))
        const own = await server.newEnrolmentCode(ada.id)
        const again = await server.door.enrolment.create(enrolmentOf(ada, own))
        assert.equal(again.account_id, ada.id)
        // The refusal has not bound the free code.
        const bob = newMaker()
        const { account_id } = await server.door.enrolment.create(enrolmentOf(bob, free))
        assert.equal(account_id, bob.id)
      })

      test('another entry for the account, or its device in another account, comes too late', async () => {
        const ada = await enrol(server)
        const other = newMaker({ id: ada.id })
        const own = await server.newEnrolmentCode(ada.id)
        await fails('conflict', server.door.enrolment.create(enrolmentOf(other, own)))
        const thief = newMaker({ device: ada.device })
        const code = await server.newEnrolmentCode()
        await fails('conflict', server.door.enrolment.create(enrolmentOf(thief, code)))
        await fails('not_found', ada.account.keyLogs.read({ account: thief.id }))
      })

      test('a code serves one account', async () => {
        const code = await server.newEnrolmentCode()
        await server.door.enrolment.create(enrolmentOf(newMaker(), code))
        await fails('invalid_token', server.door.enrolment.create(enrolmentOf(newMaker(), code)))
        const own = await server.newEnrolmentCode(newId('acc_', Date.now()))
        await fails('invalid_token', server.door.enrolment.create(enrolmentOf(newMaker(), own)))
      })

      test('a code is read as people type it', async () => {
        const code = await server.newEnrolmentCode()
        assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}$/)
        const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`
        const { account_id } = await server.door.enrolment.create(enrolmentOf(newMaker(), typed))
        assert.match(account_id, /^acc_/)
      })

      test('no code, a wrong code, a code that ran out', async () => {
        const maker = newMaker()
        const expired = await server.newEnrolmentCode()
        later(15 * MINUTE)
        for (const code of ['', 'x', '\0', 'AAAA-AAAA-AAAA-AAAA', expired]) {
          await fails('invalid_token', server.door.enrolment.create(enrolmentOf(maker, code)))
        }
      })

      test('four wrong guesses leave a code alive, five end it', async () => {
        const guess = (code: string) => code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A')
        for (const [wrong, alive] of [
          [4, true],
          [5, false],
        ] as const) {
          const code = await server.newEnrolmentCode()
          const maker = newMaker()
          for (let i = 0; i < wrong; i++)
            await fails(
              'invalid_token',
              server.door.enrolment.create(enrolmentOf(maker, guess(code))),
            )
          const right = server.door.enrolment.create(enrolmentOf(maker, code))
          if (alive) await right
          else await fails('invalid_token', right)
        }
      })

      test('a faulty entry is refused and costs no try', async () => {
        const code = await server.newEnrolmentCode()
        const maker = newMaker()
        const { stamp } = stampOf(maker)
        for (const [entry, reason] of [
          [tampered(maker.entry), 'bad_signature'],
          [stamp, 'wrong_typ'],
          ['a.b.c', 'respelt_base64|bad_json|bad_utf8'],
        ] as const)
          for (let i = 0; i < 3; i++)
            await isInvalid(
              'entry',
              reason,
              server.door.enrolment.create(enrolmentOf({ ...maker, entry }, code)),
            )
        await server.door.enrolment.create(enrolmentOf(maker, code))
      })

      test('ten at once with one code: one account', async () => {
        const maker = newMaker()
        const code = await server.newEnrolmentCode()
        const all = await Promise.allSettled(
          Array.from({ length: 10 }, () => server.door.enrolment.create(enrolmentOf(maker, code))),
        )
        // Each presentation counts, and a code takes five.
        const answers = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
        assert.deepEqual(
          answers.map(({ account_id }) => account_id),
          Array(5).fill(maker.id),
        )
      })
    })

    describe('session', () => {
      test('a renewal ends the access token before it, the refresh token stays', async () => {
        const { enrolment } = await enrol(server)
        const { access_token, refresh_token, session_id, access_expires_at } = enrolment.session
        assert.equal(access_expires_at, new Date(subject.clock.ms + HOUR).toISOString())
        later(MINUTE)
        const next = await server.door.session.renew({ body: { refresh_token } })
        assert.deepEqual(
          { ...next, access_token: '' },
          {
            session_id,
            refresh_token,
            access_token: '',
            access_expires_at: new Date(subject.clock.ms + HOUR).toISOString(),
          },
        )
        await rejected(access_token)
        const account = await server.account(next.access_token)
        assert.equal((await account.context.read({})).user.id, enrolment.account_id)
        await server.door.session.renew({ body: { refresh_token } })
      })

      test('an access token lives an hour', async () => {
        const { enrolment } = await enrol(server)
        later(HOUR - 1)
        await (await server.account(enrolment.session.access_token)).context.read({})
        later(1)
        await rejected(enrolment.session.access_token)
      })

      test('a token is good for what it is', async () => {
        const { session } = (await enrol(server)).enrolment
        await rejected(session.refresh_token)
        await rejected('')
        for (const refresh_token of [session.access_token, '', 'x'])
          await fails('invalid_token', server.door.session.renew({ body: { refresh_token } }))
      })

      test('the clock is the server’s', async () => {
        const { now, public_url } = await server.door.clock.read({})
        assert.equal(now, time())
        assert.match(public_url, /^https?:\/\/[^/]+$/)
      })
    })

    describe('connections', () => {
      test('open makes a pending connection of one owner', async () => {
        const ada = await enrol(server)
        const body = await opening(ada, 'Bob')
        const made = await ada.account.rosters.open({ body })
        assert.deepEqual(made, {
          id: body.connection,
          name: 'Bob',
          kind: 'direct',
          state: 'pending',
          favorite: false,
          tag_ids: [],
          members: [{ user_id: ada.id, display_name: 'Ada', role: 'owner', state: 'active' }],
          preset_id: null,
          epoch: 1,
          secret_here: false,
          created_at: time(),
          updated_at: time(),
        })
        assert.deepEqual(await ada.account.connections.read({ id: made.id }), made)
        const roster = await ada.account.rosters.read({ connection: made.id })
        assert.deepEqual(roster.entries, [body.entry])
        const { envelopes } = await ada.account.envelopes.read({ connection: made.id })
        assert.deepEqual(envelopes, body.envelopes)
      })

      test('open again: the same entry finds the connection, another is refused', async () => {
        const ada = await enrol(server)
        const body = await opening(ada, 'Bob')
        const all = await Promise.all(
          Array.from({ length: 5 }, () => ada.account.rosters.open({ body })),
        )
        for (const one of all) assert.deepEqual(one, all[0])
        const { connection } = body
        const other = await opening(ada, 'Bob', { connection, entryOf: { at: 1 } })
        await fails('conflict', ada.account.rosters.open({ body: other }))
        const eve = await enrol(server)
        const theirs = await opening(eve, 'Bob', { connection })
        await fails('conflict', eve.account.rosters.open({ body: theirs }))
        const roster = await ada.account.rosters.read({ connection })
        assert.deepEqual(roster.entries, [body.entry])
      })

      test('open refuses what members would refuse', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const strange = newDeviceKeys()
        const good = await opening(ada)
        const { connection } = good
        const of = (more: Parameters<typeof opening>[2]) =>
          opening(ada, 'Bob', { connection, ...more })
        const [envelope] = good.envelopes
        const cases: [string, string, typeof good][] = [
          ['entry', 'actor_log_mismatch', await opening(eve, 'Bob', { connection })],
          ['entry', 'wrong_connection', { ...good, connection: newId('con_', Date.now()) }],
          ['entry', 'bad_signature', { ...good, entry: tampered(good.entry) }],
          ['entry', 'unknown_signer', await of({ entryOf: { device: eve.device } })],
          ['envelopes', 'bad_signature', { ...good, envelopes: [tampered(envelope!)] }],
          ['envelopes', 'duplicate_device', { ...good, envelopes: [envelope!, envelope!] }],
          ['envelopes', 'wrong_connection', { ...good, envelopes: (await opening(ada)).envelopes }],
          ['envelopes', 'unknown_epoch', await of({ envelopeOf: { epoch: 2 } })],
          [
            'envelopes',
            'wrong_epoch_head',
            await of({ envelopeOf: { epochHead: new Uint8Array(32) } }),
          ],
          ['envelopes', 'unknown_signer', await of({ envelopeOf: { sender: eve.device } })],
          ['envelopes', 'wrong_recipient', await of({ envelopeOf: { recipient: eve.device } })],
          [
            'envelopes',
            'wrong_recipient_kid',
            await of({ envelopeOf: { recipientSeal: strange.seal.jwk } }),
          ],
          ['envelopes', 'Invalid length|>=1', { ...good, envelopes: [] }],
        ]
        for (const [path, reason, body] of cases)
          await isInvalid(path, reason, ada.account.rosters.open({ body }))
        await fails('not_found', ada.account.connections.read({ id: connection }))
        await ada.account.rosters.open({ body: good })
      })

      test('list: newest first, page by page', async () => {
        const { account, ...ada } = await enrol(server)
        const ids: string[] = []
        for (let i = 0; i < 5; i++) ids.unshift((await connect({ account, ...ada }, `No. ${i}`)).id)
        const pages = await everything(account.connections.list, 2)
        assert.deepEqual(
          pages.map((page) => page.map(({ id }) => id)),
          [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)],
        )
        const whole = await account.connections.list({ limit: 5 })
        assert.equal(whole.next_cursor, null)
        assert.deepEqual(whole.items, pages.flat())
      })

      test('a page is not moved by what comes and goes', async () => {
        const ada = await enrol(server)
        for (let i = 0; i < 4; i++) await connect(ada)
        const first = await ada.account.connections.list({ limit: 2 })
        const all = (await ada.account.connections.list({})).items.map(({ id }) => id)
        await ada.account.connections.delete({ id: first.items[1]!.id })
        await connect(ada)
        const second = await ada.account.connections.list({ limit: 2, cursor: first.next_cursor! })
        assert.deepEqual(
          second.items.map(({ id }) => id),
          all.slice(2),
        )
      })

      test('update is a merge', async () => {
        const ada = await enrol(server)
        const { id, ...made } = await connect(ada, 'Bob')
        later(1000)
        assert.deepEqual(await ada.account.connections.update({ id, body: {} }), { id, ...made })
        const renamed = await ada.account.connections.update({ id, body: { name: 'Bert' } })
        assert.deepEqual(renamed, { id, ...made, name: 'Bert', updated_at: time() })
        later(1000)
        const starred = await ada.account.connections.update({ id, body: { favorite: true } })
        assert.deepEqual(starred, { ...renamed, favorite: true, updated_at: time() })
        assert.deepEqual(await ada.account.connections.read({ id }), starred)
      })

      test('favorite: on unless told; twice is as once', async () => {
        const ada = await enrol(server)
        const { id } = await connect(ada)
        const on = await ada.account.connections.favorite({ id, body: undefined })
        assert.equal(on.favorite, true)
        later(1000)
        assert.deepEqual(await ada.account.connections.favorite({ id, body: {} }), on)
        const off = await ada.account.connections.favorite({ id, body: { favorite: false } })
        assert.equal(off.favorite, false)
      })

      test('delete removes all of it, once', async () => {
        const ada = await enrol(server)
        const [gone, kept] = [await connect(ada), await connect(ada)]
        const { id } = gone
        assert.equal(await ada.account.connections.delete({ id }), undefined)
        await fails('not_found', ada.account.connections.delete({ id }))
        await fails('not_found', ada.account.connections.read({ id }))
        await fails('not_found', ada.account.rosters.read({ connection: id }))
        await fails('not_found', ada.account.envelopes.read({ connection: id }))
        const { items } = await ada.account.connections.list({})
        assert.deepEqual(items, [kept])
      })

      test('twenty at once', async () => {
        const ada = await enrol(server)
        const made = await Promise.all(Array.from({ length: 20 }, () => connect(ada)))
        const { items } = await ada.account.connections.list({})
        assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(made.map(({ id }) => id)))
      })
    })

    describe('guest codes', () => {
      test('create answers the code without its secret', async () => {
        const { account } = await enrol(server)
        const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
        const made = await newGuest(account, { label: 'Plumber', expires_at })
        assert.deepEqual(made, {
          id: made.id,
          label: 'Plumber',
          state: 'active',
          expires_at,
          external_member_id: null,
          last_opened_at: null,
          secret_here: false,
          code: null,
          created_at: time(),
        })
        assert.deepEqual((await account.guestCodes.list({})).items, [made])
      })

      test('create again is as once; another with the id is refused', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
        const made = await newGuest(ada.account, { expires_at })
        later(1000)
        assert.deepEqual(await newGuest(ada.account, { expires_at }, made.id), made)
        await fails('conflict', newGuest(ada.account, { label: 'Baker', expires_at }, made.id))
        await fails('conflict', newGuest(ada.account, {}, made.id))
        await fails('conflict', newGuest(eve.account, { expires_at }, made.id))
        assert.deepEqual((await ada.account.guestCodes.list({})).items, [made])
      })

      test('delete revokes, and may be repeated; expiry is by the clock', async () => {
        const { account } = await enrol(server)
        const state = async () => (await account.guestCodes.list({})).items.map((one) => one.state)
        await newGuest(account)
        const { id } = await newGuest(account)
        assert.equal(await account.guestCodes.delete({ id }), undefined)
        assert.equal(await account.guestCodes.delete({ id }), undefined)
        assert.deepEqual(await state(), ['revoked', 'active'])
        later(HOUR)
        assert.deepEqual(await state(), ['revoked', 'expired'])
      })

      test('fifty a page unless told', async () => {
        const { account } = await enrol(server)
        await Promise.all(Array.from({ length: 51 }, () => newGuest(account)))
        const { items, next_cursor } = await account.guestCodes.list({})
        assert.equal(items.length, 50)
        const rest = await account.guestCodes.list({ cursor: next_cursor! })
        assert.equal(rest.items.length, 1)
        const ids = [...items, ...rest.items].map(({ id }) => id)
        assert.deepEqual(ids, [...new Set(ids)].sort().reverse())
      })
    })

    describe('stamps', () => {
      test('a receipt verifies under the pinned key, and is the same again', async () => {
        const ada = await enrol(server)
        const { jti, stamp } = stampOf(ada)
        const { receipt } = await ada.account.stamps.create({ body: { stamp } })
        const serverKey = ada.enrolment.receipt_key
        const facts = verifyStamp({ stamp, key_log: [ada.entry], receipt }, { serverKey })
        assert.deepEqual(
          { ...facts.receipt, stamp_sha256: '' },
          {
            v: 1,
            jti,
            stamp_sha256: '',
            received_at: Math.floor(subject.clock.ms / 1000),
            key_status: 'active',
            assurance: 'device',
          },
        )
        later(MINUTE)
        assert.deepEqual(await ada.account.stamps.create({ body: { stamp } }), { receipt })
      })

      test('the server says what it knows, not what the stamp claims', async () => {
        const ada = await enrol(server)
        const { stamp } = stampOf(ada, { assurance: 'organisation' })
        const { receipt } = await ada.account.stamps.create({ body: { stamp } })
        const serverKey = ada.enrolment.receipt_key
        const facts = verifyStamp({ stamp, key_log: [ada.entry], receipt }, { serverKey })
        assert.equal(facts.receipt?.assurance, 'device')
      })

      test('another stamp under the id is refused', async () => {
        const ada = await enrol(server)
        const { jti, stamp } = stampOf(ada)
        await ada.account.stamps.create({ body: { stamp } })
        const other = stampOf(ada, { jti, ctx: 'another' })
        await fails('conflict', ada.account.stamps.create({ body: { stamp: other.stamp } }))
      })

      test('what would not verify is not registered', async () => {
        const [ada, eve] = [await enrol(server), await enrol(server)]
        const { stamp } = stampOf(ada)
        const cases: [string, string][] = [
          ['bad_signature', tampered(stamp)],
          ['wrong_account', stampOf(eve).stamp],
          ['key_log_mismatch', stampOf(eve, { iss: ada.id }).stamp],
          ['unknown_signer', stampOf(ada, { dev: eve.device }).stamp],
          ['wrong_typ', ada.entry],
        ]
        for (const [reason, bad] of cases)
          await isInvalid('stamp', reason, ada.account.stamps.create({ body: { stamp: bad } }))
      })
    })

    describe('verification log', () => {
      const entryOf = (id = newId('ver_', Date.now()), display_name = 'Bob') => ({
        id,
        at: new Date(Date.now()).toISOString(),
        method: 'local' as const,
        outcome: 'verified' as const,
        matches: [
          {
            kind: 'guest' as const,
            speaker: 'other' as const,
            guest_code_id: newId('gst_', Date.now()),
            display_name,
            window: 29453760,
          },
        ],
        caller: null,
      })

      test('push keeps the first of an id, list gives back what was pushed', async () => {
        const [ada, bob] = [await enrol(server), await enrol(server)]
        const [a, b, c] = [entryOf(), entryOf(), entryOf()]
        const push = (person: Person, ...items: ReturnType<typeof entryOf>[]) =>
          person.account.verifications.push({ body: { items } })
        assert.deepEqual(await push(ada, b, a), { accepted: 2 })
        assert.deepEqual(await push(ada, entryOf(a.id, 'Eve'), c, b), { accepted: 1 })
        assert.deepEqual(await push(ada), { accepted: 0 })
        assert.deepEqual(await push(ada, ...Array<typeof a>(3).fill(a)), { accepted: 0 })
        const pages = await everything(ada.account.verificationLog.list, 2)
        assert.deepEqual(pages, [[c, b], [a]])
        // An id is an account's own: another's entry with it is another entry.
        assert.deepEqual(await push(bob, entryOf(a.id, 'Bert')), { accepted: 1 })
        const { items } = await bob.account.verificationLog.list({})
        assert.equal(items[0]?.matches[0]?.display_name, 'Bert')
      })

      test('push takes five hundred', async () => {
        const { account } = await enrol(server)
        const items = Array.from({ length: 500 }, () => entryOf())
        assert.deepEqual(await account.verifications.push({ body: { items } }), { accepted: 500 })
        await isInvalid(
          'items',
          '500',
          account.verifications.push({ body: { items: [...items, entryOf()] } }),
        )
      })
    })

    describe('keys of a person', () => {
      test('anybody signed in reads them from the log, page by page', async () => {
        const ada = await enrol(server, 'Ada')
        const at = time()
        later(MINUTE)
        const bob = await enrol(server, 'Bob')
        const [seal, sign] = (['seal', 'sign'] as const).map((use) => ({
          id: thumbprint(ada.keys[use].jwk),
          use,
          jwk: ada.keys[use].jwk,
          device_name: "Ada's laptop",
          created_at: at,
        }))
        const { items, next_cursor } = await bob.account.profiles.keys({ id: ada.id })
        assert.deepEqual(items, [sign, seal])
        assert.equal(next_cursor, null)
        const pages = await everything(
          (page) => bob.account.profiles.keys({ id: ada.id, ...page }),
          1,
        )
        assert.deepEqual(pages, [[sign], [seal]])
        const log = await bob.account.keyLogs.read({ account: ada.id })
        assert.deepEqual(log.entries, [ada.entry])
      })
    })

    test('a cursor that no list gave, and a limit that none takes', async () => {
      const ada = await enrol(server)
      await connect(ada)
      await connect(ada)
      const { next_cursor } = await ada.account.connections.list({ limit: 1 })
      const { connections, guestCodes, verificationLog, profiles } = ada.account
      const keys: typeof connections.list = (page) =>
        profiles.keys({ id: ada.id, ...page }) as unknown as ReturnType<typeof connections.list>
      const lists = [guestCodes.list, verificationLog.list, keys]
      for (const list of [connections.list, ...lists])
        for (const cursor of ['', '*', 'a', 'Y29uX1x4', `${next_cursor}A`])
          await fails('bad_request', list({ cursor }))
      for (const list of lists) await fails('bad_request', list({ cursor: next_cursor! }))
      for (const limit of [0, 201, 1.5])
        await fails('validation_failed', connections.list({ limit }))
    })

    test('a malformed id is no resource', async () => {
      const { account } = await enrol(server)
      const real = newId('con_', Date.now())
      for (const id of ['x', 'con_', `${real}0`, real.toUpperCase(), `${real.slice(0, -1)}\0`]) {
        const calls: Call[] = [
          (of) => of.connections.read({ id }),
          (of) => of.connections.update({ id, body: { name: 'x' } }),
          (of) => of.connections.favorite({ id, body: {} }),
          (of) => of.connections.delete({ id }),
          (of) => of.rosters.read({ connection: id }),
          (of) => of.envelopes.read({ connection: id }),
          (of) => of.guestCodes.delete({ id }),
          (of) => of.keyLogs.read({ account: id }),
          (of) => of.profiles.keys({ id }),
        ]
        for (const call of calls) await fails('not_found', call(account))
      }
    })

    test('a member that no row knows is refused', async () => {
      const ada = await enrol(server)
      const { id } = await connect(ada)
      const extra = { name: 'x', owner: 'eve' } as { name: string }
      await isInvalid('owner', 'never', ada.account.connections.update({ id, body: extra }))
      await isInvalid('name', '', ada.account.connections.update({ id, body: { name: '' } }))
    })

    test('one account sees and changes nothing of another', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const connection = await connect(ada)
      const guest = await newGuest(ada.account)
      const { id } = connection
      const calls: Call[] = [
        (of) => of.connections.read({ id }),
        (of) => of.connections.update({ id, body: { name: 'x' } }),
        (of) => of.connections.update({ id, body: {} }),
        (of) => of.connections.favorite({ id, body: {} }),
        (of) => of.connections.delete({ id }),
        (of) => of.rosters.read({ connection: id }),
        (of) => of.envelopes.read({ connection: id }),
        (of) => of.guestCodes.delete({ id: guest.id }),
      ]
      for (const call of calls) await fails('not_found', call(eve.account))
      const { connections, guestCodes, verificationLog } = eve.account
      for (const list of [connections.list, guestCodes.list, verificationLog.list])
        assert.deepEqual(await list({}), { items: [], next_cursor: null })
      assert.deepEqual((await ada.account.connections.list({})).items, [connection])
      assert.deepEqual((await ada.account.guestCodes.list({})).items, [guest])
    })
  })
}
