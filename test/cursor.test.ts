import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { every } from '../src/api/cursor.ts'
import { rejects } from './rejects.ts'

describe('a list read to its end', () => {
  it('is complete, page by page', async () => {
    const asked: unknown[] = []
    const items = await every(async ({ limit, cursor = '0' }) => {
      asked.push([limit, cursor])
      const at = Number(cursor)
      return { items: [at, at + 1], next_cursor: at < 4 ? String(at + 2) : null }
    })
    assert.deepEqual(items, [0, 1, 2, 3, 4, 5])
    assert.deepEqual(asked, [
      [200, '0'],
      [200, '2'],
      [200, '4'],
    ])
  })

  for (const [name, next] of [
    ['always has the same cursor', () => 'same'],
    ['never ends', (n: number) => String(n)],
  ] as const)
    it(`that ${name} is rejected`, async () => {
      let pages = 0
      const endless = every(async () => ({ items: [], next_cursor: next((pages += 1)) }))
      await rejects('backend_error', endless)
      assert(pages <= 10_000)
    })
})
