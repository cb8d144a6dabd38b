/** The routes of the audit log: pages of lines, and the check of the chain. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { AuditChain, AuditEntry } from '../../src/api/rest/audit.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner } from './people.ts'

interface Entries {
  items: AuditEntry[]
  next_cursor: string | null
}

describe('the audit log', () => {
  let daemon: TestDaemon
  let token: string
  before(async () => {
    daemon = await startDaemon()
    token = await daemon.token('full')
    for (const name of ['a', 'b', 'c']) await asOwner(daemon, 'POST', '/api/v1/tags', { name })
  })
  after(() => daemon.close())

  const list = async (query: string) => {
    const { json } = await daemon.request('GET', `/api/v1/audit${query}`, { token })
    return json as Entries
  }
  const chain = (query = '') => asOwner<AuditChain>(daemon, 'GET', `/api/v1/audit/chain${query}`)

  test('it is listed by pages, newest first, without a gap', async () => {
    const items: AuditEntry[] = []
    let query = '?limit=2'
    for (;;) {
      const page = await list(query)
      items.push(...page.items)
      if (page.next_cursor === null) break
      query = `?limit=2&cursor=${page.next_cursor}`
    }
    const lines = items.map(({ line }) => line)
    assert.deepEqual(
      lines,
      Array.from({ length: lines.length }, (_, at) => lines.length - at),
    )
    const tags = items.filter(({ route }) => route === 'POST /api/v1/tags')
    assert.deepEqual(
      tags.map((one) => [one.token, one.status, one.outcome, one.created?.slice(0, 4)]),
      Array.from({ length: 3 }, () => ['command line', 201, 'done', 'tag_']),
    )
    assert.equal(items.at(-1)?.outcome, 'started')
  })

  test('its head is known later, and a changed line breaks the chain', async () => {
    const first = await chain()
    assert.deepEqual([first.ok, first.fault, first.knows_head], [true, null, null])
    await asOwner(daemon, 'POST', '/api/v1/tags', { name: 'd' })
    const later = await chain(`?head=${first.head}`)
    assert.deepEqual([later.ok, later.knows_head], [true, true])
    assert(later.lines > first.lines)
    const foreign = await chain(`?head=${'0'.repeat(64)}`)
    assert.deepEqual([foreign.ok, foreign.knows_head], [false, false])

    const path = join(daemon.stateDir, 'audit.jsonl')
    writeFileSync(path, readFileSync(path, 'utf8').replace('POST /api/v1/tags', 'GET /api/v1/tags'))
    const broken = await chain()
    assert.equal(broken.ok, false)
    assert.equal(broken.fault?.file, 'audit.jsonl')
  })

  test('a token of scope write may not read it', async () => {
    const write = await daemon.token('write')
    for (const path of ['/api/v1/audit', '/api/v1/audit/chain'])
      assert.equal((await daemon.request('GET', path, { token: write })).status, 403)
  })
})
