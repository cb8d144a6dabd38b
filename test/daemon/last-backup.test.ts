/** The time of the last backup in the status. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDaemon } from '../daemon.ts'
import { asOwner } from '../handlers/people.ts'

test('the status has the time of the last backup', async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.close())
  const last = async () =>
    (await asOwner<{ last_backup_at: string | null }>(daemon, 'GET', '/api/v1/status'))
      .last_backup_at
  assert.equal(await last(), null)

  const before = new Date().toISOString()
  const { status } = await daemon.request('POST', '/local/v1/backups', {
    token: daemon.owner(),
    body: { passphrase: 'correct horse battery staple' },
  })
  assert.equal(status, 200)
  const made = await last()
  assert(made !== null && before <= made && made <= new Date().toISOString(), String(made))
})
