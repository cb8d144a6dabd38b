/** Hostile names in the pages with forms, as an account server sends them from its database. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { UNSHOWABLE } from '../../src/crypto/encoding/quoted.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { OPEN_LINK_REQUEST_PREFIX } from '../../src/service/links/open-link-requests.ts'
import { startAccountServer } from '../account-server.ts'
import { openServiceDatabase } from '../service/database.ts'
import { HOSTILE_NAMES } from './hostile-names.ts'

const hashOf = (token: string) => createHash('sha256').update(token).digest('hex')

test('names from the database can neither change the text around them nor fill a page', async (t) => {
  const { address, stateDir } = await startAccountServer(t)
  const { db, close } = await openServiceDatabase({ url: null, file: join(stateDir, 'account.db') })
  t.after(close)
  const now = Date.now()
  for (const [at, [kind, name]] of Object.entries(HOSTILE_NAMES).entries()) {
    const owner = `acc_${String(at).padStart(26, '0')}`
    await db
      .insertInto('accounts')
      .values({ id: owner, kind: 'person', display_name: name, headline: name })
      .execute()
    const links = (['active', 'paused'] as const).map((state) => ({
      id: newId('lnk_', now),
      account_id: owner,
      slug: `link-${state}-${at}`,
      title: name,
      state,
      preset_id: null,
      created_at: now,
    }))
    await db.insertInto('open_links').values(links).execute()
    const [asked, claimed] = ['A', 'B'].map((letter) => `${letter}${at}`.padEnd(43, 'x'))
    const over = { created_at: now, expires_at: now + 3_600_000 }
    await db
      .insertInto('open_link_requests')
      .values({
        ...over,
        id: newId(OPEN_LINK_REQUEST_PREFIX, now),
        open_link_id: links[0]!.id,
        account_id: owner,
        display_name: name,
        email: 'gus@example.org',
        message: name,
        state: 'unconfirmed',
        token_hash: hashOf(asked!),
        connection_id: null,
      })
      .execute()
    await db
      .insertInto('email_claims')
      .values({
        ...over,
        id: newId('eml_', now),
        account_id: owner,
        address: `ann${at}@example.org`,
        token_hash: hashOf(claimed!),
      })
      .execute()
    const paths = [
      ...links.map(({ slug }) => `/o/${slug}`),
      `/confirm/${asked}`,
      `/confirm/${claimed}`,
    ]
    for (const path of paths) {
      const html = await (await fetch(address + path)).text()
      assert.match(html, /Ann|A|W/, path)
      assert.doesNotMatch(html, new RegExp(`(?!\\n)[${UNSHOWABLE}]`, 'u'), `${kind} at ${path}`)
      assert.doesNotMatch(html, /\p{M}{5}/u, `${kind} at ${path}`)
      assert(html.length < 12_288, `${kind} at ${path}: ${html.length}`)
    }
  }
})
