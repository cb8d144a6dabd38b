/** Codes by mail on both engines, and the errors of a full database. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { newEnrolmentCode } from '../../src/service/devices/enrolment-codes.ts'
import { openService } from '../../src/service/service.ts'
import { openServiceDatabase } from './database.ts'
import { newPostgresPlace, withoutPostgres } from './engines.ts'
import { freePort } from '../free-port.ts'
import { signInsSuite } from './sign-ins.suite.ts'
import { rejects } from '../rejects.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-sign-ins-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = async () => ({ url: null, file: join(folder, `${(files += 1)}.db`) })

signInsSuite('SQLite', newFile)

describe('on PostgreSQL', { skip: withoutPostgres }, () => {
  signInsSuite('PostgreSQL', newPostgresPlace)
})

test('if every new code exists already, the caller is asked to try again', async (t) => {
  const { db, close } = await openServiceDatabase(await newFile())
  t.after(close)
  // As if each code existed already: the insert is ignored.
  await sql`create trigger taken before insert on enrolment_codes begin select raise(ignore); end`.execute(
    db,
  )
  await assert.rejects(newEnrolmentCode({ db, now: () => 1 }, null), {
    code: 'rate_limited',
    message: 'This account server cannot store another code. Try again in a minute.',
    headers: { 'Retry-After': '60' },
  })
})

test('if the relay is unreachable, the server reports an outage, and counts nothing', async (t) => {
  const service = await openService({
    ...(await newFile()),
    publicUrl: () => 'https://a.example',
    version: '1',
    now: () => 1,
    mail: { smtp: `smtp://127.0.0.1:${await freePort()}` },
    from: 'accounts@example.org',
    log: () => undefined,
  })
  t.after(() => service.close())
  for (let i = 0; i < 7; i++)
    await rejects(
      'backend_unavailable',
      service.door({ key: null }).signIns.create({ body: { email: 'ada@example.org' } }),
      { says: /could not be sent at the moment/ },
    )
})
