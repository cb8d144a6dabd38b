/** The limit of mails about invitations for an account, on both engines. */
import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { takeInvitationMails } from '../../../src/service/connections/invitation-letters.ts'
import { openServiceDatabase } from '../database.ts'
import { onBothEngines } from '../engines.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const START = Date.UTC(2026, 0, 1)
const MAILBOX = { what: 'org invitation', most: 3, periodMs: HOUR }

onBothEngines((name, engine) => {
  async function opened(t: TestContext) {
    const { db, close } = await openServiceDatabase(await engine.newPlace())
    t.after(close)
    const clock = { ms: START }
    /** Creates an account of that age, in milliseconds. */
    async function account(ageMs: number): Promise<string> {
      const id = newId('acc_', clock.ms)
      await db.insertInto('accounts').values({ id, kind: 'person', display_name: 'A' }).execute()
      const entry = { account_id: id, seq: 0, entry: '', stored_at: clock.ms - ageMs }
      await db.insertInto('key_log_entries').values(entry).execute()
      return id
    }
    const mails = (by: string, addresses: readonly string[]) =>
      db
        .transaction()
        .execute((trx) =>
          takeInvitationMails(trx, { account: by, toMailbox: MAILBOX }, addresses, clock.ms),
        )
    return { clock, account, mails }
  }
  const people = (count: number, domain: string, from = 0) =>
    Array.from({ length: count }, (_, i) => `p${from + i}@${domain}`)

  describe(`mails about invitations: ${name}`, () => {
    test('500 tagged addresses of one mailbox in one request: three mails', async (t) => {
      const { account, mails } = await opened(t)
      const ada = await account(DAY)
      const tagged = Array.from({ length: 500 }, (_, i) => `ada+${i}@example.org`)
      assert.equal((await mails(ada, tagged)).length, 3)
      assert.deepEqual(await mails(ada, ['ada@example.org']), [])
    })

    test('500 mails an hour from one account to one domain; other domains and accounts have their own limit', async (t) => {
      const { clock, account, mails } = await opened(t)
      const [ada, bob] = [await account(DAY), await account(DAY)]
      assert.equal((await mails(ada, people(400, 'a.test'))).length, 400)
      const both = [...people(200, 'a.test', 400), ...people(200, 'b.test')]
      const got = await mails(ada, both)
      assert.equal(got.filter((one) => one.endsWith('@a.test')).length, 100)
      assert.equal(got.filter((one) => one.endsWith('@b.test')).length, 200)
      assert.equal((await mails(bob, people(10, 'a.test', 900))).length, 10)
      clock.ms += HOUR
      assert.equal((await mails(ada, people(500, 'a.test', 2000))).length, 500)
    })

    test('an account in its first day: 100 mails an hour to all domains together', async (t) => {
      const { clock, account, mails } = await opened(t)
      const young = await account(0)
      assert.equal((await mails(young, people(80, 'a.test'))).length, 80)
      assert.equal((await mails(young, people(80, 'b.test'))).length, 20)
      assert.deepEqual(await mails(young, people(1, 'c.test')), [])
      clock.ms += DAY
      assert.equal((await mails(young, people(400, 'c.test', 1))).length, 400)
    })

    test('concurrent requests share one limit', async (t) => {
      const { account, mails } = await opened(t)
      const young = await account(0)
      const got = await Promise.all(
        Array.from({ length: 6 }, (_, i) => mails(young, people(30, 'a.test', i * 30))),
      )
      assert.equal(got.flat().length, 100)
    })
  })
})
