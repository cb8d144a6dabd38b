/** The account server’s state in the output of `status`. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { call } from './calling.ts'

const STATUS = {
  authenticated: true,
  device_registered: true,
  global_key_active: false,
  environment: 'production',
  backend: 'https://accounts.example.org',
  version: '1.2.3',
  cached_connections: 1,
  last_sync_at: '2026-01-31T09:15:00.000Z',
  backend_reachable: true,
  backend_unreachable_since: null,
  not_working: [],
  notices: [],
  waiting: null,
  needs_you: [],
  waiting_devices: [],
  display_name: 'Ada',
  clock: 'steady',
  last_backup_at: null,
  scheduled_backup: null,
  public_url: 'https://accounts.example.org',
  reachable: 'network',
  changed_keys: [],
  forked_connections: [],
  last_error: null,
  next_sync_at: null,
  api: 'http://127.0.0.1:19821',
  socket: null,
  stream: null,
  summary: 'Signed in.',
  keychain: 'file',
}

const printed = async (more: object) => {
  const api = { status: { read: async () => ({ ...STATUS, ...more }) } } as unknown as Api
  return (await call(api, ['status'])).out
}

it('status: shows that the account server answers, or that this is unknown', async () => {
  assert.match(await printed({}), /^Reachable +yes$/m)
  assert.match(await printed({ backend_reachable: null }), /^Reachable +not known, because /m)
  assert.doesNotMatch(await printed({}), /Not working/)
})

it('status: shows how changes reach the daemon', async () => {
  const since = '2026-01-31T09:20:00.000Z'
  const rows: readonly [object | null, RegExp][] = [
    [null, /^Changes +fetched by a sync, because no daemon receives them$/m],
    [{ state: 'open', since, reason: null }, /^Changes +arrive at once, since 31 Jan/m],
    [
      { state: 'closed', since, reason: 'The server is away.' },
      /^Changes +fetched every 15 minutes, since .*\): The server is away\.$/m,
    ],
    [{ state: 'closed', since, reason: null }, /^Changes +fetched every 15 minutes, since .*\)$/m],
  ]
  for (const [stream, line] of rows) assert.match(await printed({ stream }), line)
})

it('status: shows what needs the user, right after the summary', async () => {
  assert.match(
    await printed({ needs_you: ['One.', 'Two.\u001b[2J'] }),
    /^Signed in\.\nNeeds you +One\.\nNeeds you +Two\..*\n/,
  )
})

it('status: shows the address of the API, the last error and the next sync', async () => {
  const out = await printed({
    last_error: { at: '2026-01-31T09:16:00.000Z', message: 'The server is away.' },
    next_sync_at: '2026-01-31T09:17:00.000Z',
  })
  assert.match(out, /^API +http:\/\/127\.0\.0\.1:19821$/m)
  assert.match(out, /^Last error +31 Jan.*\)  The server is away\.$/m)
  assert.match(out, /^Next sync +31 Jan.*\)$/m)
  assert.doesNotMatch(await printed({ api: null }), /^API|Last error|Next sync/m)
})

it('status: shows what the next sync hands over', async () => {
  const waiting = { verifications: 2, stamps: 1, rotations: 0 }
  assert.match(
    await printed({ waiting }),
    /^Waiting +2 verifications, 1 stamp, for the next sync$/m,
  )
  const nothing = { verifications: 0, stamps: 0, rotations: 0 }
  assert.doesNotMatch(await printed({ waiting: nothing }), /^Waiting/m)
})

it('status: shows since when the server does not answer, and what fails meanwhile', async () => {
  const out = await printed({
    backend_reachable: false,
    backend_unreachable_since: '2026-01-31T09:30:00.000Z',
    not_working: ['Lists.', 'Changes.'],
  })
  assert.match(out, /^Reachable +no, since 31 Jan.*\)$/m)
  assert.match(out, /^Not working +Lists\.\nNot working +Changes\.$/m)
})

it('status: shows when the last backup was made, if this device can make one', async () => {
  assert.match(await printed({}), /^Last backup +never$/m)
  const last_backup_at = '2026-01-31T09:20:00.000Z'
  assert.match(await printed({ last_backup_at }), /^Last backup +31 Jan/m)
  assert.doesNotMatch(await printed({ device_registered: false }), /Last backup/)
})
