/** The account server goes away and comes back: what needs nobody goes on, and what was made meanwhile goes up once. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, newMachine, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

interface Report {
  readonly last_sync: { ok: boolean; error: string | null; pushed: { verifications: number } }
}

it('stamps and checks go on while it is away', async (t) => {
  const dir = freshFolder(t)
  const running: TestDaemon[] = []
  const started = async (env: Record<string, string>) => {
    const daemon = await startDaemon(env)
    running.push(daemon)
    return daemon
  }
  t.after(async () => {
    for (const daemon of running.toReversed()) await daemon.close()
  })
  const server = await started({ SVC_STATE_DIR: dir })
  const { port } = new URL(server.accountAddress)
  const daemon = await started({ SVC_BACKEND_URL: server.accountAddress })
  await signIn(daemon, server, 'fay@example.org')
  const csm = await (await newMachine(server)).token('full')
  const { id } = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/connections', { name: 'B' })
  const sync = () => asOwner<Report>(daemon, 'POST', '/api/v1/sync')
  assert((await sync()).last_sync.ok)

  await server.close()
  running.splice(running.indexOf(server), 1)
  const { words } = await asOwner<{ words: string }>(
    daemon,
    'GET',
    `/api/v1/connections/${id}/code`,
  )
  const checked = await asOwner<object>(daemon, 'POST', '/api/v1/verify', { words })
  assert.partialDeepStrictEqual(checked, { echo: true, conclusive: true })
  const stamp = await asOwner<{ receipt: null }>(daemon, 'POST', '/api/v1/stamp', { content: 'x' })
  assert.equal(stamp.receipt, null)
  const away = (await sync()).last_sync
  assert.deepEqual([away.ok, away.pushed.verifications], [false, 0])
  assert.match(away.error ?? '', /account server http:/)
  const list = await daemon.request('GET', '/api/v1/connections', { token: daemon.owner() })
  assert.deepEqual(
    [list.status, (list.json as { error: string }).error],
    [503, 'backend_unavailable'],
  )
  const machine = await daemon.request('GET', '/api/v1/status', { token: csm })
  assert.equal(machine.status, 503, 'nobody can say whether its token is still good')

  await started({ SVC_STATE_DIR: dir, SVC_ACCOUNT_PORT: port })
  const back = (await sync()).last_sync
  assert.deepEqual([back.ok, back.error, back.pushed.verifications], [true, null, 1])
  assert.equal((await sync()).last_sync.pushed.verifications, 0)
  const log = await asOwner<{ items: object[] }>(daemon, 'GET', '/api/v1/verification-log')
  assert.equal(log.items.length, 1)
  assert.equal((await daemon.request('GET', '/api/v1/status', { token: csm })).status, 200)
})
