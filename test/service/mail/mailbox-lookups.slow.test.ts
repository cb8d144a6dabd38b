/**
 * Look-ups by mailbox: which accounts they find, and how many an account may make; on both
 * engines.
 */
import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { AppError } from '../../../src/errors.ts'
import type { ServiceContext } from '../../../src/service/context.ts'
import { accountBehind } from '../../../src/service/accounts/mailbox-lookups.ts'
import { openServiceDatabase } from '../database.ts'
import { onBothEngines } from '../engines.ts'
import { rejects } from '../../rejects.ts'

const HOUR = 3_600_000

onBothEngines((name, engine) => {
  async function opened(t: TestContext) {
    const { db, close } = await openServiceDatabase(await engine.newPlace())
    t.after(close)
    const clock = { ms: Date.UTC(2026, 0, 1) }
    const ground = { db, now: () => clock.ms } as unknown as ServiceContext
    async function account(address: string): Promise<string> {
      const id = newId('acc_', clock.ms)
      await db.insertInto('accounts').values({ id, kind: 'person', display_name: 'A' }).execute()
      const times = { verified_at: clock.ms, created_at: null }
      const row = { address, account_id: id, is_primary: 1 as const, ...times }
      await db
        .insertInto('emails')
        .values({ ...row, id: newId('eml_', clock.ms) })
        .execute()
      return id
    }
    const findable = (account_id: string, findable_by_email: 0 | 1) =>
      db
        .insertInto('preferences')
        .values({
          account_id,
          locale: null,
          time_zone: null,
          public_code: 0,
          email_notifications: 1,
          findable_by_email,
        })
        .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ findable_by_email }))
        .execute()
    const lookUp = (by: string, email: string) => accountBehind(ground, by, email)
    return { clock, account, findable, lookUp }
  }

  describe(`look-ups by mailbox: ${name}`, () => {
    test('an account that is not findable by mailbox reads like an unknown mailbox', async (t) => {
      const { account, findable, lookUp } = await opened(t)
      const [ada, bob] = [await account('ada@example.org'), await account('bob@example.org')]
      const refusal = async (email: string) => {
        const error = await lookUp(bob, email).catch((cause: unknown) => cause)
        assert(error instanceof AppError)
        return JSON.stringify(error)
      }
      assert.equal(await lookUp(bob, 'Ada@example.org'), ada)
      await findable(ada, 0)
      assert.equal(await refusal('ada@example.org'), await refusal('nobody@example.org'))
      await findable(ada, 1)
      assert.equal(await lookUp(bob, 'ada@example.org'), ada)
    })

    test('600 an hour of all accounts together, found or not', async (t) => {
      const { clock, account, lookUp } = await opened(t)
      const people = []
      for (let i = 0; i < 21; i++) people.push(await account(`p${i}@example.org`))
      for (let i = 0; i < 600; i++)
        await lookUp(people[i % 20]!, i % 2 === 0 ? 'p20@example.org' : `none${i}@x.test`).catch(
          (error: unknown) => assert.equal((error as AppError).code, 'not_found'),
        )
      clock.ms += 1000
      const { headers } = await rejects('rate_limited', lookUp(people[20]!, 'p1@example.org'), {
        says: /at this account server/,
      })
      assert.equal(headers['Retry-After'], '3599')
      clock.ms += HOUR
      assert.equal(await lookUp(people[20]!, 'p1@example.org'), people[1])
    })
  })
})
