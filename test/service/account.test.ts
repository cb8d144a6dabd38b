/**
 * The deletion of an account on both engines; and on SQLite, that the file is clean afterwards.
 */
import assert from 'node:assert/strict'
import { cpSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { accountRacesSuite } from './account-races.suite.ts'
import { accountWaitSuite } from './account-wait.suite.ts'
import { accountEndSuite } from './account.suite.ts'
import { openServiceDatabase } from './database.ts'
import { onBothEngines } from './engines.ts'
import { connect, enrolByMail, newAddress, stampOf } from './person.ts'
import { openSubject } from './subject.ts'

onBothEngines((name, engine) => {
  accountEndSuite(name, engine)
  accountRacesSuite(name, engine)
  accountWaitSuite(name, engine)
})

it('SQLite files contain no data of a deleted account, earlier versions included', async (t) => {
  const file = join(freshFolder(t), 'account.db')
  const subject = await openSubject({ url: null, file })
  t.after(() => subject.close())
  const email = newAddress()
  const ada = await enrolByMail(subject.server, email, 'Ada Lovelace-Byron')
  const { id } = await connect(ada, 'Secret society')
  await ada.account.connections.update({ id, body: { name: 'Open society' } })
  await ada.account.profile.update({ body: { headline: 'Countess of Lovelace' } })
  await ada.account.profile.update({ body: { headline: 'Analyst' } })
  const { jti, stamp } = stampOf(ada)
  await ada.account.stamps.create({ body: { stamp } })
  const gone = [
    ada.id,
    ada.device,
    id,
    jti,
    email,
    stamp,
    ada.entry,
    'Ada Lovelace-Byron',
    'Secret society',
    'Open society',
    'Countess of Lovelace',
    'Analyst',
  ]
  const found = () => {
    const files = readdirSync(dirname(file)).map((name) => readFileSync(join(dirname(file), name)))
    return gone.filter((text) => files.some((bytes) => bytes.includes(text)))
  }
  assert.deepEqual(found(), gone)
  await ada.account.account.delete({})
  assert.deepEqual(found(), [])
})

it('the next start removes deleted data that a crash left in the write-ahead log', async (t) => {
  const [dir, crashed] = [freshFolder(t), freshFolder(t)]
  const { db, close } = await openServiceDatabase({ url: null, file: join(dir, 'account.db') })
  t.after(close)
  const id = newId('acc_', Date.now())
  await db.insertInto('accounts').values({ id, kind: 'person', display_name: 'x' }).execute()
  await db.deleteFrom('accounts').where('id', '=', id).execute()
  cpSync(dir, crashed, { recursive: true })
  const found = () =>
    readdirSync(crashed).filter((name) => readFileSync(join(crashed, name)).includes(id))
  assert.deepEqual(found(), ['account.db-wal'])
  const next = await openServiceDatabase({ url: null, file: join(crashed, 'account.db') })
  t.after(next.close)
  assert.deepEqual(found(), [])
})
