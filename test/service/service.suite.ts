/**
 * Cases that the port does not show. These are the schema and its versions, the contents of the
 * database and what must not be in it, the pages, and states that only direct access to the
 * database can create. For every engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql, type Kysely } from 'kysely'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import { stampIndices, verifyStamp } from '../../src/crypto/stamp.ts'
import { EXIT, StartError } from '../../src/errors.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import { connect, enrol, opening, stampOf, type Person } from './person.ts'
import { openSubject, PUBLIC_URL, type LocalSubject, type Place } from './subject.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOBODY = { key: null }

export interface EngineUnderTest {
  /** The SQL type of ids. */
  readonly idType: string
  /** Creates an empty database. */
  newPlace(): Promise<Place>
  /** Runs SQL on it without migrating it. */
  run(place: Place, statements: readonly string[]): Promise<void>
  /** Returns the names of its tables, sorted. */
  tables(place: Place): Promise<string[]>
}

const VERSION_TABLE = `create table schema_version (
  version integer primary key, applied_at text not null default current_timestamp)`

export const failsToStart = (exit: keyof typeof EXIT, pattern: RegExp, open: Promise<unknown>) =>
  assert.rejects(open, (error: unknown) => {
    assert.ok(error instanceof StartError, String(error))
    assert.equal(error.exit, EXIT[exit])
    assert.match(error.message, pattern)
    return true
  })

export function serviceSuite(name: string, engine: EngineUnderTest): void {
  describe(`schema: ${name}`, () => {
    test('applies every version once to an empty database, and keeps the data of a current one', async () => {
      const place = await engine.newPlace()
      const first = await openServiceDatabase(place)
      const versions = async (db: Kysely<Schema>) =>
        (await sql`select version, applied_at from schema_version`.execute(db)).rows
      const applied = await versions(first.db)
      await first.db
        .insertInto('accounts')
        .values({ id: 'a', kind: 'person', display_name: 'Ada' })
        .execute()
      await first.close()
      const second = await openServiceDatabase(place)
      assert.deepEqual(await versions(second.db), applied)
      assert.equal((await second.db.selectFrom('accounts').selectAll().execute()).length, 1)
      await second.close()
    })

    test('rejects a database of a newer program and leaves it unchanged', async () => {
      const place = await engine.newPlace()
      await engine.run(place, [VERSION_TABLE, 'insert into schema_version (version) values (99)'])
      await failsToStart('stateNewer', /version 99/, openServiceDatabase(place))
      assert.deepEqual(await engine.tables(place), ['schema_version'])
    })

    test('applies a version completely or not at all', async () => {
      const place = await engine.newPlace()
      await engine.run(place, ['create table stamps (id text)'])
      await failsToStart('failed', /already exists/, openServiceDatabase(place))
      assert.deepEqual(await engine.tables(place), ['stamps'])
      await engine.run(place, ['drop table stamps'])
      await (await openServiceDatabase(place)).close()
    })

    test('rejects a database from before the first release and leaves it unchanged', async () => {
      const place = await engine.newPlace()
      const versions = [1, 2, 3, 4, 5, 6, 7].map(
        (version) => `insert into schema_version (version) values (${version})`,
      )
      await engine.run(place, [VERSION_TABLE, ...versions, 'create table accounts (id text)'])
      await failsToStart(
        'stateOlder',
        /before the first release of countersignd \(version 7;/,
        openServiceDatabase(place),
      )
      assert.deepEqual(await engine.tables(place), ['accounts', 'schema_version'])
    })

    test('returns numbers as numbers, and orders ids by bytes', async () => {
      const { db, close } = await openServiceDatabase(await engine.newPlace())
      const words = 2 ** 36 - 1
      const row = { account_id: 'a', stamp: '', receipt: '' }
      await db
        .insertInto('accounts')
        .values({ id: 'a', kind: 'person', display_name: 'Ada' })
        .execute()
      const ids = ['_', '0', '9', 'A', 'Z', 'a', 'b', 'ä']
      await db
        .insertInto('stamps')
        .values([...ids].reverse().map((id, i) => ({ ...row, id, words: words - i })))
        .execute()
      const rows = await db.selectFrom('stamps').selectAll().orderBy('id').execute()
      const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.deepEqual(
        rows.map(({ id }) => id),
        ids.toSorted(bytes),
      )
      assert.equal(rows.at(-1)?.words, words)
      await close()
    })

    test('a transaction excludes concurrent callers', async () => {
      const { db, close } = await openServiceDatabase(await engine.newPlace())
      const account = (id: string) => ({ id, kind: 'person' as const, display_name: '' })
      const failed = db.transaction().execute(async (trx) => {
        await trx.insertInto('accounts').values(account('inside')).execute()
        // On one connection without a lock this row would be rolled back with the transaction.
        const outside = db.insertInto('accounts').values(account('outside')).execute()
        await trx.selectFrom('accounts').select('id').execute()
        throw Object.assign(new Error('roll back'), { outside })
      })
      const error = await failed.then(
        assert.fail,
        (reason: { outside: Promise<unknown> }) => reason,
      )
      await error.outside
      const rows = await db.selectFrom('accounts').select('id').execute()
      assert.deepEqual(
        rows.map(({ id }) => id),
        ['outside'],
      )
      await close()
    })
  })

  describe(`service: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let hand: ServiceDatabase
    before(async () => {
      place = await engine.newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    /** Appends the entry that revokes the person’s only device. */
    async function revoke({ id, device, kid, keys, entry }: Person) {
      const revocation = signJws(
        'keylog+jws',
        kid,
        {
          v: 2,
          account: id,
          seq: 1,
          prev: encodeBase64url(entryHash(entry)),
          op: 'revoke',
          device,
          by: device,
          at: 1_767_225_600,
        },
        keys.sign.secret,
      )
      await hand.db
        .insertInto('key_log_entries')
        .values({ account_id: id, seq: 1, entry: revocation, stored_at: 1 })
        .execute()
      return revocation
    }

    test('another replica serves the same accounts, with the same receipt key', async () => {
      const ada = await enrol(subject.server)
      const { id } = await connect(ada)
      const replica = await openSubject(place)
      const { access_token } = ada.enrolment.session
      const there = replica.server.account({ access_token, keys: ada.keys })
      assert.equal((await there.connections.read({ id })).name, 'Bob')
      const bob = await enrol(replica.server)
      assert.deepEqual(bob.enrolment.receipt_key, ada.enrolment.receipt_key)
      await replica.close()
    })

    test('the database contains no token and no code', async () => {
      const code = await subject.server.newEnrolmentCode()
      const { session } = (await enrol(subject.server)).enrolment
      const stored = JSON.stringify([
        await hand.db.selectFrom('sessions').selectAll().execute(),
        await hand.db.selectFrom('access_tokens').selectAll().execute(),
        await hand.db.selectFrom('enrolment_codes').selectAll().execute(),
      ])
      const [locator = '', ...secret] = code.split('-')
      assert.ok(stored.includes(locator))
      for (const text of [secret.join(''), code, session.access_token, session.refresh_token])
        assert.ok(!stored.includes(text))
    })

    test('expired codes are deleted', async () => {
      await subject.server.newEnrolmentCode()
      subject.clock.ms += HOUR
      await subject.server.newEnrolmentCode()
      const codes = await hand.db.selectFrom('enrolment_codes').selectAll().execute()
      assert.equal(codes.length, 1)
    })

    test('a session records its last use, to the minute', async () => {
      const { account, enrolment } = await enrol(subject.server)
      const { session } = enrolment
      const start = subject.clock.ms
      const seen = async () => {
        const row = await hand.db
          .selectFrom('sessions')
          .select('last_seen_at')
          .where('id', '=', session.session_id)
          .executeTakeFirstOrThrow()
        return row.last_seen_at - start
      }
      // The first use also stores that the device has its key.
      await account.context.read({})
      for (const ms of [59_999, 60_000]) {
        subject.clock.ms = start + ms
        await account.context.read({})
      }
      // No request waits for it.
      await until('the last use', async () => (await seen()) !== 0)
      assert.equal(await seen(), 60_000)
    })

    test('a server that stops records the last uses', async () => {
      const { account, enrolment, keys } = await enrol(subject.server)
      const { session } = enrolment
      await account.context.read({})
      const replica = await openSubject(place)
      replica.clock.ms = subject.clock.ms + MINUTE
      await replica.server.account({ ...session, keys }).context.read({})
      await replica.close()
      const row = await hand.db
        .selectFrom('sessions')
        .select('last_seen_at')
        .where('id', '=', session.session_id)
        .executeTakeFirstOrThrow()
      assert.equal(row.last_seen_at, replica.clock.ms)
    })

    test('words find one stamp: the device signs again under another id', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      const { stamp } = stampOf(ada)
      const [a, b, c] = stampIndices(stamp) as [number, number, number]
      await hand.db
        .insertInto('stamps')
        .values({
          id: newId('stm_', Date.now()),
          account_id: bob.id,
          words: a * 2 ** 24 + b * 2 ** 12 + c,
          stamp: '',
          receipt: '',
        })
        .execute()
      await rejects('conflict', ada.account.stamps.create({ body: { stamp } }))
      await ada.account.stamps.create({ body: { stamp: stampOf(ada).stamp } })
    })

    test('a key revoked before the stamp arrived: the receipt shows it, and every verifier rejects the stamp', async () => {
      const ada = await enrol(subject.server)
      const { stamp } = stampOf(ada)
      const revocation = await revoke(ada)
      const { receipt } = await ada.account.stamps.create({ body: { stamp } })
      const file = { stamp, key_log: [ada.entry], receipt }
      const { receipt_key: serverKey } = ada.enrolment
      assert.equal(
        Buffer.from(receipt.split('.')[1]!, 'base64url').includes('"key_status":"revoked"'),
        true,
      )
      assert.throws(() => verifyStamp(file, { serverKey }), { reason: 'revoked_key' })
      assert.deepEqual((await ada.account.keyLogs.read({ account: ada.id })).entries, [
        ada.entry,
        revocation,
      ])
    })

    test('a key revoked after the stamp arrived: the receipt keeps the stamp valid', async () => {
      const ada = await enrol(subject.server)
      const { jti, stamp } = stampOf(ada)
      await ada.account.stamps.create({ body: { stamp } })
      await revoke(ada)
      const file = await subject.service.open.stampPages.file({ id: jti }, NOBODY)
      assert.equal(file.key_log.length, 2)
      const { receipt_key: serverKey, receipt = '' } = file
      const facts = verifyStamp({ ...file, receipt }, { serverKey })
      assert.equal(facts.receipt?.key_status, 'active')
      // A device that repeats the request gets the first receipt.
      assert.deepEqual(await ada.account.stamps.create({ body: { stamp } }), { receipt })
    })

    test('a revoked device cannot open a connection, and its keys are not listed', async () => {
      const ada = await enrol(subject.server)
      const body = await opening(ada)
      const { next_cursor } = await ada.account.profiles.keys({ id: ada.id, limit: 1 })
      await revoke(ada)
      await rejects('validation_failed', ada.account.rosters.open({ body }), {
        says: /revoked_signer/,
      })
      const empty = { items: [], next_cursor: null }
      assert.deepEqual(await ada.account.profiles.keys({ id: ada.id }), empty)
      const rest = await ada.account.profiles.keys({ id: ada.id, cursor: next_cursor! })
      assert.deepEqual(rest, empty)
    })
  })

  describe(`site: ${name}`, () => {
    let subject: LocalSubject
    let ada: Person
    before(async () => {
      subject = await openSubject(await engine.newPlace())
      ada = await enrol(subject.server, 'Ada <b>')
    })
    after(() => subject.close())

    const newGuest = async () => {
      const id = newId('gst_', Date.now())
      const expires_at = new Date(subject.clock.ms + MINUTE).toISOString()
      await ada.account.deviceGuestCodes.create({ body: { id, label: 'Plumber', expires_at } })
      return id
    }
    const lastOpened = async (id: string) =>
      (await ada.account.guestCodes.list({})).items.find((one) => one.id === id)?.last_opened_at

    test('returns health and clock', async () => {
      const { open } = subject.service
      subject.clock.ms += 1500
      assert.deepEqual(await open.siteHealth.read({}, NOBODY), {
        status: 'ok',
        version: '1.2.3',
        uptime_s: 1,
      })
      assert.equal((await subject.server.door().clock.read({})).public_url, PUBLIC_URL)
    })

    test('the page of a guest code shows its state, and reading it changes nothing', async () => {
      const { guestPages } = subject.service.open
      const page = (id: string) => guestPages.read({ id }, NOBODY)
      const [active, revoked] = [await newGuest(), await newGuest()]
      await ada.account.guestCodes.delete({ id: revoked })
      const shown = await page(active)
      assert.equal(shown.status ?? 200, 200)
      assert.ok(typeof shown.body === 'string' && shown.body.includes(ada.id))
      assert.ok(!shown.body.includes('<b>'))
      assert.equal(await lastOpened(active), null)
      assert.equal((await page(revoked)).status, 410)
      for (const id of [newId('gst_', Date.now()), 'x', '\0', ada.id])
        assert.equal((await page(id)).status, 404)
      subject.clock.ms += MINUTE
      assert.equal((await page(active)).status, 410)
    })

    test('an opening is recorded for an active code', async () => {
      const { guestPages } = subject.service.open
      const [active, revoked] = [await newGuest(), await newGuest()]
      await ada.account.guestCodes.delete({ id: revoked })
      const at = new Date(subject.clock.ms).toISOString()
      for (const id of [active, revoked]) await guestPages.opened({ id }, NOBODY)
      assert.equal(await lastOpened(active), at)
      assert.equal(await lastOpened(revoked), null)
      subject.clock.ms += MINUTE
      await guestPages.opened({ id: active }, NOBODY)
      assert.equal(await lastOpened(active), at)
      for (const id of [newId('gst_', Date.now()), 'x'])
        await rejects('not_found', guestPages.opened({ id }, NOBODY))
    })

    test('a stamp has a page, and a file that can be verified', async () => {
      const { stampPages } = subject.service.open
      const { jti: id, stamp } = stampOf(ada)
      await rejects('not_found', stampPages.file({ id }, NOBODY))
      assert.equal((await stampPages.read({ id }, NOBODY)).status, 404)
      await ada.account.stamps.create({ body: { stamp } })
      assert.equal((await stampPages.read({ id }, NOBODY)).status ?? 200, 200)
      const { receipt_key: serverKey, ...file } = await stampPages.file({ id }, NOBODY)
      assert.deepEqual(serverKey, ada.enrolment.receipt_key)
      const facts = verifyStamp({ ...file, receipt: file.receipt! }, { serverKey })
      assert.equal(facts.receipt?.jti, id)
      for (const bad of ['x', '\0', ada.id]) {
        await rejects('not_found', stampPages.file({ id: bad }, NOBODY))
        assert.equal((await stampPages.read({ id: bad }, NOBODY)).status, 404)
      }
    })

    test('only the three known assets can be read', async () => {
      const { assets } = subject.service.open
      const names = ['', 'x.js', '../countersignd.cjs', 'guest.js/', 'GUEST.JS', 'constructor']
      for (const asset of names) await rejects('not_found', assets.read({ name: asset }, NOBODY))
    })
  })
}
