/** The daemon with its embedded account server deletes what is older than its settings allow. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { firstIdAt } from '../../src/crypto/encoding/id.ts'
import { startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'

const DAY = 24 * 3_600_000

it('a daemon deletes old verifications, here and in its account server, only if it is set', async (t) => {
  const dir = freshFolder(t)
  const env = { SVC_STATE_DIR: dir }
  await (await startDaemon(env)).close()
  const at = Date.now() - 40 * DAY
  const entry = { at: new Date(at).toISOString(), method: 'local', outcome: 'not_verified' }
  const id = firstIdAt('ver_', at)

  const account = new DatabaseSync(join(dir, 'account.db'))
  account
    .prepare('insert into verifications select id, ?, ? from accounts')
    .run(id, JSON.stringify({ id, ...entry, matches: [], caller: null }))
  account.close()
  const state = new DatabaseSync(join(dir, 'state.db'))
  state
    .prepare(`insert into verifications values (?, ?, ?, ?, '[]', null, 1)`)
    .run(id, entry.at, entry.method, entry.outcome)
  state.close()

  const counts = () =>
    ['account.db', 'state.db'].map((file) => {
      const db = new DatabaseSync(join(dir, file))
      const rows = db.prepare('select id from verifications').all()
      db.close()
      return rows.length
    })
  const listed = async (more: Record<string, string>, isDone: () => boolean) => {
    const daemon = await startDaemon({ ...env, ...more })
    try {
      const token = await daemon.token('read')
      await until('a sync', async () => {
        const { json } = await daemon.request('GET', '/api/v1/status', { token })
        return (json as { last_sync_at: string | null }).last_sync_at !== null
      })
      await until('the deletion', isDone)
      const { json } = await daemon.request('GET', '/api/v1/verification-log', { token })
      return (json as { items: { id: string }[] }).items.map((item) => item.id)
    } finally {
      await daemon.close()
    }
  }
  assert.deepEqual(await listed({}, () => true), [id])
  assert.deepEqual(counts(), [1, 1])
  const setting = { SVC_RETENTION_VERIFICATIONS_DAYS: '39' }
  assert.deepEqual(await listed(setting, () => counts().every((count) => count === 0)), [])
})
