/** The account interface of a remote server, over HTTP, with SQLite and with PostgreSQL. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, before, describe, test } from 'node:test'
import { accountSuite } from '../account.suite.ts'
import { logPagesSuite } from '../service/connections/log-pages.suite.ts'
import { newPostgresPlace, withoutPostgres } from '../service/engines.ts'
import { enrol } from '../service/person.ts'
import type { Place } from '../service/subject.ts'
import { openFar } from './far.ts'
import { clientAt } from './scripted.ts'
import { rejects } from '../rejects.ts'

const HOUR = 3_600_000

/** The behaviour of the client with a real server beyond the port. */
function wireSuite(newPlace: () => Promise<Place>): void {
  /** Creates a person with a device that keeps its own session. Its clock is `offMs` slow. */
  async function person(t: TestContext, offMs = 0) {
    const { base, clock, server, close } = await openFar(await newPlace())
    t.after(close)
    const { keys, enrolment } = await enrol(server)
    const remote = clientAt(t, base, { now: () => clock.ms - offMs })
    const account = remote.account({
      key: async () => keys.auth,
      refreshToken: () => enrolment.session.refresh_token,
    })
    const read = async () => (await account.context.read({})).user.id
    return { account, remote, clock, read, id: enrolment.account_id }
  }

  test('a session renews itself, for ten calls at once, until it is ended', async (t) => {
    const { account, clock, read, id } = await person(t)
    assert.equal(await read(), id)
    for (let i = 0; i < 3; i++) {
      clock.ms += HOUR
      assert.deepEqual(await Promise.all(Array.from({ length: 10 }, read)), Array(10).fill(id))
    }
    await account.currentSession.delete({})
    await rejects('not_signed_in', read())
  })

  for (const minutes of [-10, 10])
    test(`a device with a clock ${minutes} minutes off`, async (t) => {
      const { remote, clock, read, id } = await person(t, minutes * 60_000)
      assert.equal(await read(), id)
      assert(Math.abs(remote.offsetMs()! - minutes * 60_000) <= 1000)
      clock.ms += HOUR
      assert.equal(await read(), id)
    })

  test('a repeated operation runs once', async (t) => {
    const { account } = await person(t)
    const as = account.acting({ id: new Uint8Array(16).fill(7) })
    const create = (name: string) => as.organisations.create({ body: { name } })
    const first = await create('Ada & Co.')
    for (let i = 0; i < 2; i++) assert.deepEqual(await create('Ada & Co.'), first)
    assert.equal((await account.context.read({})).organisations.length, 1)
    await rejects('idempotency_mismatch', create('Bob & Co.'))
  })
}

describe('a server on SQLite', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-far-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  let n = 0
  const newPlace = async () => ({ url: null, file: join(folder, `account-${n++}.db`) })
  accountSuite('remote → SQLite', async () => openFar(await newPlace()))
  logPagesSuite('remote → SQLite', async (more) => openFar(await newPlace(), more))
  wireSuite(newPlace)
})

describe('a server on PostgreSQL', { skip: withoutPostgres }, () => {
  accountSuite('remote → PostgreSQL', async () => openFar(await newPostgresPlace()))
  wireSuite(newPostgresPlace)
})
