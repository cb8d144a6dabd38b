/** Domain events: when their subscribers run, and what follows a commit. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newBackground } from '../../src/service/db/background.ts'
import { type Subscribers, newEvents } from '../../src/service/events.ts'
import type { OutgoingLetter } from '../../src/service/mail/mailer.ts'
import { openServiceDatabase } from './database.ts'

const LETTER: OutgoingLetter = {
  to: 'ada@example.org',
  language: 'en',
  subject: 'A letter',
  text: 'Hello',
}
const EVENT = { type: 'account.signed_in', account: 'acc_1', at: 0 } as const

async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-events-'))
  const { db, close } = await openServiceDatabase({ url: null, file: join(folder, '1.db') })
  t.after(async () => {
    await close()
    rmSync(folder, { recursive: true })
  })
  const steps: string[] = []
  const background = newBackground(() => assert.fail('no work in the background fails'))
  const mail = { isRelayed: false, send: async () => void steps.push('letter') }
  const own: Subscribers['account.signed_in'] = [
    async ({ trx, send, afterCommit }, { account }) => {
      const row = { id: account, kind: 'person', display_name: 'Ada' } as const
      await trx.insertInto('accounts').values(row).execute()
      send(LETTER)
      afterCommit(async () => void steps.push('after the commit'))
      steps.push('first')
    },
    () => void steps.push('second'),
  ]
  const events = newEvents(
    { db, background, mail },
    async () => ({ 'account.signed_in': own }) as unknown as Subscribers,
  )
  const accounts = async () => (await db.selectFrom('accounts').select('id').execute()).length
  return { db, events, background, steps, accounts }
}

test('subscribers run in order, inside the transaction of the event', async (t) => {
  const { events, background, steps, accounts } = await open(t)
  await events.transaction(async (trx) => {
    await events.publish(trx, EVENT)
    steps.push('published')
  })
  await background.idle()
  assert.deepEqual(steps.slice(0, 3), ['first', 'second', 'published'])
  assert.deepEqual(steps.slice(3).toSorted(), ['after the commit', 'letter'])
  assert.equal(await accounts(), 1)
})

test('an event of a failed transaction has no effects', async (t) => {
  const { events, background, steps, accounts } = await open(t)
  const failing = events.transaction(async (trx) => {
    await events.publish(trx, EVENT)
    throw new Error('It fails.')
  })
  await assert.rejects(failing, /It fails/)
  await background.idle()
  assert.deepEqual(steps, ['first', 'second'])
  assert.equal(await accounts(), 0)
})

test('an event outside a transaction of events is rejected', async (t) => {
  const { db, events } = await open(t)
  await assert.rejects(
    db.transaction().execute((trx) => events.publish(trx, EVENT)),
    /events\.transaction/,
  )
})
