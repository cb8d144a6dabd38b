/**
 * A child process that builds an export of many entries and blocks in the middle until it is
 * killed. Argument: the database file. Output, before it blocks: one line with the id of the
 * account and that of the export.
 */
import { writeSync } from 'node:fs'
import { openServiceDatabase } from '../database.ts'
import { fillLog } from '../log-rows.ts'
import { enrol } from '../person.ts'
import { openSubject } from '../subject.ts'
import { until } from '../../until.ts'

/** Several pieces of 256 KiB. */
const ENTRIES = 40_000

async function main(file: string) {
  const { server, service, clock } = await openSubject({ url: null, file })
  const { id: account } = await enrol(server)
  fillLog(file, account, ENTRIES, clock.ms)
  const { db } = await openServiceDatabase({ url: null, file })
  const { exports } = service.as({ account, device: null, session: null, token: null })
  const { id } = await exports.create({})
  const parts = db.selectFrom('export_parts').select('seq')
  await until('two parts of the export', async () => (await parts.execute()).length > 1)
  writeSync(1, `${account} ${id}\n`)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

void main(process.argv[2]!)
