/**
 * Limits of codes sent by mail, and the handling of a code that cannot be sent; for every engine.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { AppError } from '../../src/errors.ts'
import type { ServiceContext } from '../../src/service/context.ts'
import type { Mail, OutgoingLetter } from '../../src/service/mail/mailer.ts'
import { newEnrolmentCode } from '../../src/service/devices/enrolment-codes.ts'
import { signIns } from '../../src/service/devices/sign-ins.ts'
import { gate } from './idempotency.suite.ts'
import { openServiceDatabase } from './database.ts'
import type { Place } from './subject.ts'
import { rejects } from '../rejects.ts'

const MINUTE = 60_000
const LIFETIME = 15 * MINUTE

export function signInsSuite(name: string, newPlace: () => Promise<Place>): void {
  /** Opens the sign-in routes of a replica; `send` delivers its mail. */
  async function opened(
    t: TestContext,
    at?: Place,
    mailedCodes = { ofServer: 1000, ofDomain: null as number | null },
  ) {
    const place = at ?? (await newPlace())
    const { db, close } = await openServiceDatabase(place)
    t.after(close)
    const clock = { ms: 1_000_000_000 }
    const now = () => clock.ms
    const sent: OutgoingLetter[] = []
    const keep: Mail['send'] = async (message) => void sent.push(message)
    const rows = (send = keep) =>
      signIns({
        db,
        now,
        mailedCodes,
        mail: { send },
        publicUrl: () => 'https://a.example',
      } as unknown as ServiceContext)
    const ask = (email: string, send?: Mail['send']) =>
      rows(send).create({ body: { email } }, { key: null })
    const codes = async () =>
      (await db.selectFrom('enrolment_codes').select('email').execute()).map(({ email }) => email)
    /**
     * Stores that many valid codes, each for another mailbox; the first expires in ten minutes.
     */
    const mailed = async (count: number) => {
      const row = (n: number) => ({
        locator: `!${n}`,
        secret_hash: '',
        account_id: null,
        email: `${n}@example.org`,
        device_id: null,
        tries: 0,
        expires_at: clock.ms + (n === 0 ? 10 * MINUTE : LIFETIME),
      })
      await db
        .insertInto('enrolment_codes')
        .values(Array.from({ length: count }, (_, n) => row(n)))
        .execute()
    }
    /** Stores an account that has proven an address. */
    const enrol = async (address: string) => {
      const account_id = 'acc_ada'
      await db
        .insertInto('accounts')
        .values({ id: account_id, kind: 'person', display_name: 'Ada' })
        .execute()
      await db
        .insertInto('emails')
        .values({
          address,
          account_id,
          is_primary: 1,
          verified_at: clock.ms,
          id: 'eml_ada',
          created_at: null,
        })
        .execute()
    }
    return { place, db, clock, now, sent, ask, codes, mailed, enrol }
  }

  /** Checks that a call is limited, with this many seconds to wait. */
  async function limited(asked: Promise<unknown>, seconds: number, says: RegExp, state?: string) {
    const { headers } = await rejects('rate_limited', asked, { says, state })
    assert.deepEqual(headers, { 'Retry-After': String(seconds) })
  }

  describe(`codes by mail: ${name}`, () => {
    test('a thousand valid codes for all addresses; no more until the first expires', async (t) => {
      const { db, clock, now, sent, ask, codes, mailed } = await opened(t)
      await mailed(999)
      // Codes of the operator do not count.
      await newEnrolmentCode({ db, now }, null)
      await ask('ada@example.org')
      for (const email of ['bob@example.org', 'ada@example.org'])
        await limited(ask(email), 600, /reached its limit of codes.* in 10 minutes/)
      await assert.rejects(ask('bob@example.org'), { details: {} })
      clock.ms += 10 * MINUTE - 1
      await limited(ask('bob@example.org'), 1, / in a minute/)
      await newEnrolmentCode({ db, now }, null)
      assert.equal((await codes()).filter((email) => email !== null).length, 1000)
      clock.ms += 1
      await ask('bob@example.org')
      assert.deepEqual(
        sent.map(({ to }) => to),
        ['ada@example.org', 'bob@example.org'],
      )
    })

    test('the operator limits the valid codes of a domain and of the server', async (t) => {
      const { clock, sent, ask } = await opened(t, undefined, { ofServer: 4, ofDomain: 2 })
      await ask('ada@example.org')
      clock.ms += MINUTE
      await ask('bob@example.org')
      for (const email of ['eve@example.org', 'ada@example.org'])
        await limited(ask(email), 14 * 60, /for this mail domain.* in 14 minutes/)
      // Neither a subdomain nor a domain with the same end is the same domain.
      await ask('eve@mail.example.org')
      await ask('eve@notexample.org')
      await limited(ask('eve@example.com'), 14 * 60, /reached its limit of codes for now/)
      assert.equal(sent.length, 4)
    })

    test('the same for concurrent requests of two replicas', async (t) => {
      const one = await opened(t)
      // One SQLite file has one server.
      const two = one.place.url === null ? one : await opened(t, one.place)
      await one.mailed(990)
      const all = await Promise.allSettled(
        Array.from({ length: 40 }, (_, i) => [one, two][i % 2]!.ask(`ada${i}@example.org`)),
      )
      const done = all.filter(({ status }) => status === 'fulfilled').length
      assert.equal(done, 10)
      assert.deepEqual(
        [new Set([...one.sent, ...two.sent]).size, (await one.codes()).length],
        [10, 1000],
      )
      for (const result of all)
        if (result.status === 'rejected')
          assert.equal((result.reason as AppError).code, 'rate_limited')
      await limited(one.ask('bob@example.org'), 600, /limit of codes/)
    })

    test('five valid codes for one address, independent of other addresses', async (t) => {
      const { clock, ask } = await opened(t)
      for (let i = 0; i < 5; i++) {
        await ask('ada@example.org')
        clock.ms += MINUTE
      }
      await limited(
        ask('Ada@Example.org'),
        600,
        /to this address\. Use the newest.* in 10 minutes/,
        'code_sent',
      )
      // The reader of this mailbox has a code: a device may go on and ask the user for it.
      await assert.rejects(ask('ada@example.org'), { details: { state: 'code_sent' } })
      await ask('bob@example.org')
    })

    test('five valid codes for all tagged addresses of one mailbox; the answers do not reveal the limit', async (t) => {
      const { ask, sent, clock } = await opened(t)
      const expiries = []
      for (let i = 0; i < 60; i++) expiries.push(await ask(`ada+${i}@example.org`))
      assert.equal(sent.length, 5)
      assert.equal(new Set(expiries.map(({ expires_at }) => expires_at)).size, 1)
      // Neither the mailbox itself counts, nor one that only begins or ends like it.
      for (const other of ['ada@example.org', 'adam+1@example.org', 'ada+1@mail.example.org']) {
        await ask(other)
        assert.equal(sent.at(-1)?.to, other)
      }
      clock.ms += LIFETIME
      await ask('ada+x@example.org')
      assert.equal(sent.at(-1)?.to, 'ada+x@example.org')
    })

    test('a tagged address of an account has its own limit, independent of strangers’ requests', async (t) => {
      const { ask, sent, enrol } = await opened(t)
      const address = 'ada+countersign@example.org'
      await enrol(address)
      for (let i = 0; i < 20; i++) await ask(`ada+${i}@example.org`)
      assert.equal(sent.length, 5)
      for (let i = 0; i < 5; i++) await ask(address)
      assert.equal(sent.filter(({ to }) => to === address).length, 5)
      await limited(ask(address), 900, /to this address/, 'code_sent')
    })

    for (const others of [0, 3, 5, 8])
      test(`with ${others} codes for other tags, the answers for a tagged address are alike with and without an account`, async (t) => {
        const answers = async (hasAccount: boolean) => {
          const { ask, enrol } = await opened(t)
          const address = 'ada+shop@example.org'
          if (hasAccount) await enrol(address)
          for (let i = 0; i < others; i++) await ask(`ada+fill${i}@example.org`)
          const given: unknown[] = []
          for (let i = 0; i < 7; i++)
            given.push(
              await ask(address).catch(({ code, message, headers, details }: AppError) => ({
                code,
                message,
                headers,
                details,
              })),
            )
          return given
        }
        const known = await answers(true)
        assert.deepEqual(await answers(false), known)
        assert.deepEqual(
          known.map((answer) => Object.hasOwn(answer as object, 'code')),
          [false, false, false, false, false, true, true],
        )
      })

    test('the same for concurrent requests, with other addresses beside them', async (t) => {
      const one = await opened(t)
      const two = one.place.url === null ? one : await opened(t, one.place)
      const all = await Promise.allSettled(
        Array.from({ length: 24 }, (_, i) =>
          [one, two][i % 2]!.ask(i % 3 === 0 ? 'bob@example.org' : 'ada@example.org'),
        ),
      )
      assert.equal(all.filter(({ status }) => status === 'fulfilled').length, 10)
      const codes = await one.codes()
      for (const email of ['ada@example.org', 'bob@example.org'])
        assert.equal(codes.filter((its) => its === email).length, 5)
      for (const result of all)
        if (result.status === 'rejected')
          assert.deepEqual((result.reason as AppError).details, { state: 'code_sent' })
    })

    for (const error of [
      new AppError('backend_unavailable', 'away', { cause: '421 busy' }),
      new AppError('backend_error', 'refused', { cause: '550 unknown' }),
    ])
      test(`a code that cannot be sent (${error.message}) does not count, and the caller gets the error`, async (t) => {
        const { ask, codes, sent } = await opened(t)
        for (let i = 0; i < 7; i++)
          await assert.rejects(
            ask('ada@example.org', () => Promise.reject(error)),
            error,
          )
        assert.deepEqual(await codes(), [])
        await ask('ada@example.org')
        assert.equal(sent.length, 1)
      })

    test('a slow relay does not block the database', async (t) => {
      // A deadlock keeps no process alive: without this timer the process would end as if the
      // test had passed.
      const awake = setInterval(() => undefined, 1000)
      t.after(() => clearInterval(awake))
      const { ask, codes } = await opened(t)
      const [begun, go] = [gate(), gate()]
      const asked = ask('ada@example.org', () => {
        begun.open()
        return go.opened
      })
      await begun.opened
      await ask('bob@example.org')
      assert.deepEqual(new Set(await codes()), new Set(['ada@example.org', 'bob@example.org']))
      go.open()
      await asked
    })
  })
}
