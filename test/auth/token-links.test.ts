/** Tests what a daemon stores of the download links that its tokens hold. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { DOWNLOAD_LINK_MS } from '../../src/api/device/downloads.ts'
import type { Account } from '../../src/api/port.ts'
import { newTokenLinks } from '../../src/auth/token-links.ts'
import { metaRows } from '../../src/state/meta.ts'

test('tokens with expired links are deleted when another token gets a link', async (t) => {
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  db.exec('create table meta (key text primary key, value text not null)')
  const meta = metaRows(db)
  meta.set('other', 1)
  const clock = { ms: Date.UTC(2026, 0, 1) }
  const links = newTokenLinks({ meta, now: () => clock.ms, log: () => undefined })
  const account = {
    downloads: { create: () => Promise.resolve({ url: 'http://x/', expires_at: '' }) },
  } as unknown as Account
  const get = (token: string) => links.get(account, { id: 'exp_1', token, expiry: null })
  const keys = () =>
    db
      .prepare('select key from meta order by key')
      .all()
      .map((row) => row['key'])
  await get('tok_a')
  clock.ms += DOWNLOAD_LINK_MS - 1
  await get('tok_b')
  assert.deepEqual(keys(), ['download_links/tok_a', 'download_links/tok_b', 'other'])
  clock.ms += 1
  await get('tok_c')
  assert.deepEqual(keys(), ['download_links/tok_b', 'download_links/tok_c', 'other'])
})
