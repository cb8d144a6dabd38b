/**
 * How a device signs in again, and when it no longer can. Sessions replace each other; devices
 * are revoked or given up, also during a request. For every engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Kysely } from 'kysely'
import type { CallerSession } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { signAssertion } from '../../src/crypto/jose/client-assertion.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { AppError } from '../../src/errors.ts'
import { newBackground } from '../../src/service/db/background.ts'
import type { ServiceContext } from '../../src/service/context.ts'
import { keyLogs } from '../../src/service/devices/key-logs.ts'
import { rosters } from '../../src/service/connections/rosters.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import { withEvents } from './events.ts'
import {
  sealKeyOf,
  additionBy,
  approve,
  enrol,
  enrolByMail,
  enrolled,
  enrolmentOf,
  join,
  logOf,
  mailedCode,
  newAddress,
  newcomerOf,
  newMaker,
  opening,
  revocationBy,
  type Newcomer,
  type Person,
} from './person.ts'
import type { EngineUnderTest } from './service.suite.ts'
import { openSubject, PUBLIC_URL, type LocalSubject } from './subject.ts'
import { rejects } from '../rejects.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Checks that a call is rejected with this code and a message that matches. */
const refused = (code: string, words: RegExp, call: Promise<unknown>) =>
  assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof AppError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, words)
    return true
  })

/** Returns the same database; it runs `first` before each transaction of an answer. */
function interrupted(db: Kysely<Schema>, first: () => Promise<unknown>): Kysely<Schema> {
  type Work = Parameters<ReturnType<Kysely<Schema>['transaction']>['execute']>[0]
  const transaction = () => ({
    execute: async (work: Work) => {
      await first()
      return db.transaction().execute(work)
    },
  })
  return new Proxy(db, {
    get: (target, name) => {
      if (name === 'transaction') return transaction
      const member = Reflect.get(target, name) as unknown
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

export function entranceSuite(name: string, engine: Pick<EngineUnderTest, 'newPlace'>): void {
  describe(`signing in a device: ${name}`, () => {
    let subject: LocalSubject
    let hand: ServiceDatabase
    before(async () => {
      const place = await engine.newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    /** Enrols a person with a mailbox and a second device, which waits for approval. */
    async function withNewcomer() {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const laptop = await join(subject.server, await mailedCode(subject.server, email))
      return { email, ada, laptop, code: () => mailedCode(subject.server, email) }
    }
    const append = async (who: Pick<Person, 'account'>, entry: string) =>
      who.account.keyLogs.append({ body: { entry } })
    const renew = ({ keys, enrolment }: Pick<Person, 'keys' | 'enrolment'>) => {
      const { refresh_token } = enrolment.session
      return subject.server.door(keys.auth).session.renew({ body: { refresh_token } })
    }
    const sessionOf = ({ enrolment }: Pick<Newcomer, 'enrolment'>): CallerSession => ({
      account: enrolment.account_id,
      device: enrolment.device_id,
      session: enrolment.session.session_id,
      token: null,
    })

    test('a valid device that lost its session gets another with a new code', async () => {
      const { ada, laptop, code } = await withNewcomer()
      const { server } = subject
      // By its own entry.
      const first = await enrolled(server, ada, await code())
      assert.deepEqual([first.enrolment.device_id, first.enrolment.approved], [ada.device, true])
      await first.account.pendingDevices.read({ id: laptop.device })
      // By its keys: while it waits, when it is in the log, and when it is approved.
      const its = await code()
      const again = () => join(server, its, laptop)
      assert.equal((await again()).enrolment.approved, false)
      await append(first, await additionBy(first, laptop))
      const logged = await again()
      assert.equal(logged.enrolment.approved, false)
      const head = encodeBase64url((await logOf(first)).head)
      await logged.account.approval.create({ body: { head } })
      const approved = await again()
      assert.equal(approved.enrolment.approved, true)
      await approved.account.duties.read({})
      // The device of the first entry may do so, too.
      const keysOnly = await join(server, await code(), newcomerOf(ada.keys, ada.device))
      assert.equal(keysOnly.enrolment.approved, true)
      assert.equal((await keysOnly.account.devices.list({})).items.length, 2)
    })

    test('concurrent sign-ins of one device all succeed', async () => {
      const { server, clock } = subject
      const all = async <T>(calls: readonly (() => Promise<T>)[]) =>
        Promise.all(calls.map((call) => call()))
      const times = <T>(call: () => Promise<T>) => Array.from({ length: 6 }, () => call)
      const { auth: key } = newDeviceKeys()
      // By a code, the first of an account; then a further device, by one code and by several.
      const [email, maker] = [newAddress(), newMaker()]
      const first = await mailedCode(server, email)
      const ada = (await all(times(() => enrolled(server, maker, first))))[0]!
      const [code, laptop] = [await mailedCode(server, email), newcomerOf()]
      await all(times(() => join(server, code, laptop)))
      const tablet = newcomerOf()
      const codes: string[] = []
      for (let i = 0; i < 3; i++) codes.push(await mailedCode(server, email))
      await all(codes.map((its) => () => join(server, its, tablet)))
      // By assertions, each valid once: the first device of a machine account.
      const organisation = await ada.account.organisations.create({ body: { name: 'Acme' } })
      const { machine_id: machine } = await ada.account.machines.create({
        body: { organisation_id: organisation.id, name: 'billing', key: key.jwk },
      })
      const { entry, keys } = newMaker()
      const assertions = await all(
        times(() =>
          signAssertion({ machine, audience: PUBLIC_URL, at: Math.floor(clock.ms / 1000) }, key),
        ),
      )
      const about = { display_name: 'x', device_name: 'x', platform: 'linux' as const }
      const made = await all(
        assertions.map(
          (assertion) => () =>
            server.door().enrolment.create({
              body: { assertion, entry, seal_key: sealKeyOf(keys), ...about },
            }),
        ),
      )
      assert.equal(new Set(made.map(({ session }) => session.session_id)).size, 6)
    })

    test('a revoked device is rejected as revoked, with any valid code', async () => {
      const { ada, laptop, code } = await withNewcomer()
      await append(ada, await additionBy(ada, laptop))
      await append(ada, await revocationBy(ada, laptop.device))
      const revoked = async (call: Promise<unknown>) => {
        await refused('invalid_state', /was revoked.*new keys/, call)
        await assert.rejects(call, { details: { state: 'revoked' } })
      }
      await revoked(join(subject.server, await code(), laptop))
      await append(ada, await revocationBy(ada, ada.device))
      // Also of an account without any device.
      await revoked(join(subject.server, await code(), laptop))
      await revoked(enrolled(subject.server, ada, await code()))
    })

    test('only the revoked device’s own keys get that answer; other keys are another device', async () => {
      const { ada, laptop, code } = await withNewcomer()
      await append(ada, await additionBy(ada, laptop))
      await append(ada, await revocationBy(ada, laptop.device))
      const eve = newAddress()
      await enrolByMail(subject.server, eve)
      const strange = newcomerOf(undefined, laptop.device)
      await refused('conflict', /already enrolled/, join(subject.server, await code(), strange))
      const evesCode = await mailedCode(subject.server, eve)
      await refused('conflict', /already enrolled/, join(subject.server, evesCode, laptop))
      await append(ada, await revocationBy(ada, ada.device))
      await refused('invalid_token', /code/, enrolled(subject.server, ada, evesCode))
      const free = await subject.server.newEnrolmentCode()
      await refused('conflict', /already enrolled/, enrolled(subject.server, ada, free))
    })

    test('the session of the daemon in the server’s process is kept, without proofs', async () => {
      const { server, service, clock } = subject
      const maker = newMaker()
      const body = enrolmentOf(maker, await server.newEnrolmentCode(maker.id)).body
      const made = await service.door({ key: null, within: true }).enrolment.create({ body })
      const own = service.as(sessionOf({ enrolment: made }))
      const { id } = await own.organisations.create({ body: { name: 'Acme' } })
      await own.context.activeOrg({ body: { organisation_id: id } })
      clock.ms += 6 * MINUTE
      // The first entry of the account is public, so a code of the account is enough to send it.
      const other = await enrolled(server, maker, await server.newEnrolmentCode(maker.id))
      const { session_id } = made.session
      assert.deepEqual(
        (await own.sessions.list({})).items.map((one) => [one.id, one.current]),
        [[session_id, true]],
      )
      assert.equal((await own.context.read({})).active_organisation?.id, id)
      await own.context.activeOrg({ body: { organisation_id: null } })
      const seen = (await other.account.sessions.list({})).items.map((one) => one.id)
      assert.deepEqual(seen, [other.enrolment.session.session_id])
      await rejects('not_found', other.account.sessions.delete({ id: session_id }))
    })

    test('a new session ends the one before it, unless both began at once', async () => {
      const [maker, code] = [newMaker(), await subject.server.newEnrolmentCode()]
      const enter = () => enrolled(subject.server, maker, code)
      const [one, two] = await Promise.all([enter(), enter()])
      subject.clock.ms += 5 * MINUTE - 1
      const three = await enter()
      await Promise.all([one, two, three].map(renew))
      subject.clock.ms += 1
      const four = await enter()
      // A code and the key log are enough to open a session, but it ends no other before it has
      // proven the key.
      for (const { account } of [one, two]) await account.context.read({})
      await renew(four)
      for (const { account } of [one, two]) await rejects('invalid_token', account.context.read({}))
      await Promise.all([three, four].map(renew))
      const other = await enrol(subject.server)
      subject.clock.ms += 5 * MINUTE
      await enter()
      await renew(other)
    })

    for (const [what, comes] of [
      ['the first', (ada, code) => enrolled(subject.server, ada, code)],
      ['a further', (_, code, laptop) => join(subject.server, code, laptop)],
    ] as [string, (ada: Person, code: string, laptop: Newcomer) => Promise<Newcomer>][])
      test(`unused sessions of ${what} device: twenty at most, for a short time`, async () => {
        const { ada, laptop, code } = await withNewcomer()
        const its = await code()
        const enter = () => comes(ada, its, laptop)
        const first = await enter()
        for (const { account } of [ada, laptop, first]) await account.context.read({})
        const many = await Promise.allSettled(Array.from({ length: 40 }, enter))
        assert.equal(many.filter(({ status }) => status === 'fulfilled').length, 20)
        await rejects('rate_limited', enter())
        subject.clock.ms += 5 * MINUTE
        await enter()
        const { db } = hand
        const tokens = db
          .selectFrom('access_tokens')
          .innerJoin('sessions', 'sessions.id', 'session_id')
          .select('proven')
          .where('device_id', '=', first.device)
          .orderBy('proven')
        const proven = async () => (await tokens.execute()).map((row) => row.proven)
        // Those that it used, and the newest.
        assert.deepEqual(await proven(), [0, 1, 1])
        // Expired tokens are deleted when a session is opened and when one is renewed.
        subject.clock.ms += 60 * MINUTE
        await comes(ada, await code(), laptop)
        assert.deepEqual(await proven(), [0])
        subject.clock.ms += 60 * MINUTE
        await renew(first)
        assert.deepEqual(await proven(), [1])
      })

    test('a logged device that was not approved can revoke itself, and sign nothing else', async () => {
      const { ada, laptop } = await withNewcomer()
      const leaver = { ...laptop, id: ada.id, kid: thumbprint(laptop.keys.sign.jwk) }
      await append(ada, await additionBy(ada, laptop))
      for (const entry of [
        await revocationBy(leaver, ada.device),
        await additionBy(leaver, newcomerOf()),
      ])
        await rejects('forbidden', append(laptop, entry))
      await append(laptop, await revocationBy(leaver, laptop.device))
      assert.deepEqual(
        (await logOf(ada)).active.map(({ id }) => id),
        [ada.device],
      )
      await rejects('invalid_token', laptop.account.context.read({}))
    })

    test('a device that waits for a week is no longer pending', async () => {
      const { ada, laptop, code } = await withNewcomer()
      const awake = async (): Promise<Person> => {
        const account = subject.server.account({ ...(await renew(ada)), keys: ada.keys })
        return { ...ada, account }
      }
      const waiting = async () => {
        const { account } = await awake()
        const asked = account.pendingDevices.read({ id: laptop.device })
        return asked.then(
          ({ id }) => [id],
          () => [],
        )
      }
      const add = async () => {
        const person = await awake()
        await append(person, await additionBy(person, laptop))
      }
      const somebodyComes = async () => {
        const eve = newAddress()
        await enrolByMail(subject.server, eve)
        await join(subject.server, await mailedCode(subject.server, eve))
      }

      subject.clock.ms += 7 * DAY - 1
      await somebodyComes()
      assert.deepEqual(await waiting(), [laptop.device])
      await renew(laptop)
      subject.clock.ms += 1
      assert.deepEqual(await waiting(), [])
      await refused('validation_failed', /entry/, add())
      await somebodyComes()
      await refused('invalid_token', /Enrol the device again/, renew(laptop))
      // It may enrol again with the same keys; one that is in the log stays.
      await join(subject.server, await code(), laptop)
      assert.deepEqual(await waiting(), [laptop.device])
      await add()
      subject.clock.ms += 8 * DAY
      await somebodyComes()
      const again = await join(subject.server, await code(), laptop)
      assert.equal((await again.account.devices.list({})).items.length, 2)
    })

    test('a device that is revoked during its own request writes nothing', async () => {
      const { ada, laptop, code } = await withNewcomer()
      await approve(ada, laptop)
      const third = await join(subject.server, await code())
      const addition = await additionBy({ ...laptop, id: ada.id }, third)
      const body = await opening(ada)
      const groundBut = (first: () => Promise<unknown>) =>
        withEvents({
          db: interrupted(hand.db, first),
          now: () => subject.clock.ms,
          publicUrl: () => 'https://countersign.test',
          background: newBackground(() => undefined),
          mail: { isRelayed: false, send: async () => undefined },
        }) as unknown as ServiceContext
      const byAda = groundBut(async () => append(ada, await revocationBy(ada, laptop.device)))
      const appended = keyLogs(byAda).append({ body: { entry: addition } }, sessionOf(laptop))
      await refused('invalid_token', /was revoked/, appended)
      const byHerself = groundBut(async () => append(ada, await revocationBy(ada, ada.device)))
      const opened = rosters(byHerself).open({ body }, sessionOf(ada))
      await refused('invalid_token', /was revoked/, opened)
      const made = await hand.db
        .selectFrom('connections')
        .select('id')
        .where('id', '=', body.connection)
        .execute()
      assert.deepEqual(made, [])
    })
  })
}
