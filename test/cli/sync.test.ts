/** `sync`, and the clock of an account that no other command measures. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'

/** A daemon without new events. */
const events = {
  follow: async () => ({
    body: Buffer.from(JSON.stringify({ items: [], since: `evt_${'0'.repeat(26)}` })),
  }),
}

const REPORT = {
  started_at: '',
  finished_at: '',
  ok: true,
  trigger: 'request',
  pulled: { connections: 0, secrets: 0, guest_codes: 0, rosters: 0 },
  pushed: { verifications: 0, envelopes: 0 },
  error: null,
} as const

describe('sync', () => {
  for (const [options, asked] of [
    [[], ['sync']],
    [['--clock-is-right'], ['clock', 'sync']],
  ] as const)
    it(`${options.join() || 'alone'} calls: ${asked.join(', ')}`, async () => {
      const calls: string[] = []
      const api = {
        clock: { accept: async () => void calls.push('clock') },
        sync: {
          run: async () => {
            calls.push('sync')
            return { last_sync: REPORT }
          },
        },
        events,
        status: { read: async () => ({ notices: [] }) },
      } as unknown as Partial<Api>
      const { code, err } = await call(api, ['sync', ...options])
      assert.deepEqual([code, err, calls], [EXIT.ok, '', asked])
    })

  it('shows the notices of this device', async () => {
    const api = {
      sync: { run: async () => ({ last_sync: REPORT }) },
      events,
      status: { read: async () => ({ notices: ['One.', 'Two.'] }) },
    } as unknown as Partial<Api>
    assert.equal((await call(api, ['sync'])).err, 'One.\nTwo.\n')
  })
})
