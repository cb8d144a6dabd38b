/** Calls to an account in this process as part of an operation. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { actingAccount } from '../../src/service/calls.ts'
import { newAct } from '../../src/storage/idempotency.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Person, enrol } from './person.ts'
import { openSubject } from './subject.ts'
import { rejects } from '../rejects.ts'

const sessionOf = ({ enrolment }: Person) => ({
  account: enrolment.account_id,
  device: enrolment.device_id,
  session: enrolment.session.session_id,
  token: null,
})

async function opened(t: TestContext) {
  const file = join(freshFolder(t), 'account.db')
  const subject = await openSubject({ url: null, file })
  t.after(() => subject.close())
  const { server, service } = subject
  const of = async (name: string) => {
    const session = sessionOf(await enrol(server, name))
    const later = { ...session, session: newId('ses_', 1) }
    return { now: actingAccount(service, session), later: actingAccount(service, later) }
  }
  const [ada, bob] = [await of('Ada'), await of('Bob')]
  return { ada: ada.now, bob: bob.now, adaLater: ada.later }
}

const EXAMPLE = { body: { name: 'Example' } }

test('a repeated operation is executed once; another operation, or a call without one, again', async (t) => {
  const { ada } = await opened(t)
  const act = newAct(1)
  const made = await ada.acting(act).organisations.create(EXAMPLE)
  assert.deepEqual(await ada.acting(act).organisations.create(EXAMPLE), made)
  const ids = new Set([made.id])
  ids.add((await ada.acting(newAct(1)).organisations.create(EXAMPLE)).id)
  ids.add((await ada.organisations.create(EXAMPLE)).id)
  assert.equal(ids.size, 3)
  assert.equal((await ada.context.read({})).organisations.length, 3)
})

test('a device that signed in again counts as the same caller of an operation', async (t) => {
  const { ada, adaLater } = await opened(t)
  const act = newAct(1)
  const made = await ada.acting(act).organisations.create(EXAMPLE)
  assert.deepEqual(await adaLater.acting(act).organisations.create(EXAMPLE), made)
})

test('the same operation id of two callers is two operations', async (t) => {
  const { ada, bob } = await opened(t)
  const act = newAct(1)
  const [a, b] = [
    await ada.acting(act).organisations.create(EXAMPLE),
    await bob.acting(act).organisations.create(EXAMPLE),
  ]
  assert.notEqual(a.id, b.id)
})

test('one operation allows one write, and any number of reads', async (t) => {
  const { ada } = await opened(t)
  const acting = ada.acting(newAct(1))
  await acting.organisations.create(EXAMPLE)
  const other = acting.organisations.create({ body: { name: 'Other' } })
  await rejects('idempotency_mismatch', other)
  for (let i = 0; i < 2; i++) assert.equal((await acting.context.read({})).organisations.length, 1)
})

test('after an error an operation can be repeated with corrected input, and other rows can be written with it', async (t) => {
  const { ada } = await opened(t)
  const id = newId('gst_', Date.now())
  const acting = ada.acting(newAct(1))
  await rejects('validation_failed', acting.organisations.create({ body: { name: '' } }))
  await acting.organisations.create(EXAMPLE)
  const code = { id, label: 'Plumber', expires_at: '2026-01-02T00:00:00.000Z' }
  const made = await acting.deviceGuestCodes.create({ body: code })
  assert.deepEqual(await acting.deviceGuestCodes.create({ body: code }), made)
})
