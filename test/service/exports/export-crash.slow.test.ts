/**
 * A server is killed or closed during an export. The next server builds the export from the
 * start.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { beside, filesOf, partsIn, exportIn } from './exports-subject.ts'
import { fillLog } from '../log-rows.ts'
import { enrol } from '../person.ts'
import { openSubject } from '../subject.ts'
import { until } from '../../until.ts'

const ENTRIES = 40_000

test('after kill -9 during an export, another server finishes it', async (t) => {
  const place = { url: null, file: join(freshFolder(t), 'account.db') }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'exporting.ts'), place.file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  child.kill('SIGKILL')
  assert.deepEqual(await ended, [null, 'SIGKILL'])
  const [account, id] = line.split(' ') as [string, string]
  const left = await beside(place, (db) => db.selectFrom('exports').selectAll().execute())
  assert.deepEqual(
    left.map((row) => [row.id, row.state]),
    [[id, 'building']],
  )
  assert.ok((await partsIn(place)) > 1)

  const clock = { ms: left[0]!.builder_until! }
  const next = await openSubject(place, clock)
  t.after(() => next.close())
  const own = next.service.as({ account, device: null, session: null, token: null })
  const ready = await exportIn(own, 'ready')
  assert.equal(ready.id, id)
  const log = JSON.parse((await filesOf(next.service, own)).get('verification-log.json')!)
  assert.deepEqual(log, await every((query) => own.verificationLog.list(query)))
  assert.equal(log.length, ENTRIES)
})

test('a server closes at once, however large the export is', async (t) => {
  const place = { url: null, file: join(freshFolder(t), 'account.db') }
  const first = await openSubject(place)
  const ada = await enrol(first.server)
  fillLog(place.file, ada.id, ENTRIES, first.clock.ms)
  const { id } = await ada.account.exports.create({})
  await until('a part of the export', () => partsIn(place))
  await first.close()
  const [left] = await beside(place, (db) => db.selectFrom('exports').select('state').execute())
  assert.equal(left!.state, 'queued')

  const next = await openSubject(place, first.clock)
  t.after(() => next.close())
  const own = next.service.as({ account: ada.id, device: null, session: null, token: null })
  assert.equal((await exportIn(own, 'ready')).id, id)
})
