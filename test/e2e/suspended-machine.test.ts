/**
 * The daemon of a machine account that its organisation suspends: it reports the suspension,
 * keeps its data, and works again once the account is activated.
 */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation, asOwner, newMachine } from '../handlers/people.ts'

const daemons: TestDaemon[] = []
after(async () => {
  for (const daemon of daemons.toReversed()) await daemon.close()
})

async function started(environment: Record<string, string> = {}): Promise<TestDaemon> {
  const daemon = await startDaemon(environment)
  daemons.push(daemon)
  return daemon
}

/** Creates a machine account of an organisation, and a daemon that is signed in with it. */
async function machineDaemon() {
  const home = await started()
  const { account, file } = await newMachine(home, await activeOrganisation(home, 'Acme'))
  const environment = {
    SVC_BACKEND_URL: home.accountAddress,
    SVC_STATE_DIR: mkdtempSync(join(tmpdir(), 'countersign-machine-')),
  }
  const daemon = await started(environment)
  await asOwner(daemon, 'POST', '/local/v1/sign-in/machine', { key: file })
  const move = (name: 'activate' | 'suspend') =>
    asOwner(home, 'POST', `/api/v1/org/members/${account}/${name}`)
  return { daemon, environment, move }
}

test('every call of a suspended machine account gets that error, and its session works again afterwards', async () => {
  const { daemon, move } = await machineDaemon()
  const token = await daemon.token('full')
  const ask = (method: string, path: string, body?: object) =>
    daemon.request(method, path, { token, ...(body === undefined ? {} : { body }) })
  const session = async () =>
    ((await ask('GET', '/api/v1/sessions')).json as { items: { id: string }[] }).items[0]?.id
  const before = await session()
  await move('suspend')
  const calls: [method: string, path: string, body?: object][] = [
    ['GET', '/api/v1/context'],
    ['GET', '/api/v1/org/members'],
    ['DELETE', '/api/v1/account'],
  ]
  for (const [method, path, body] of calls) {
    const { status, json } = await ask(method, path, body)
    const { error, message } = json as { error: string; message: string }
    assert.deepEqual([status, error], [403, 'forbidden'], `${method} ${path}`)
    assert.match(message, /suspended in its organisation. Ask an owner or admin to activate it/)
  }
  assert.equal((await ask('GET', '/health')).status, 200)
  await move('activate')
  assert.equal((await ask('GET', '/api/v1/org/members')).status, 200)
  assert.equal(await session(), before)
  assert.equal((await ask('POST', '/api/v1/stamp', { content: 'x' })).status, 201)
})

test('a deletion of the account that never reached the server keeps the key', async () => {
  const { daemon, environment, move } = await machineDaemon()
  const { json } = await daemon.request('GET', '/api/v1/sessions', { token: daemon.owner() })
  const session = (json as { items: { id: string; current: boolean }[] }).items.find(
    ({ current }) => current,
  )!.id
  await daemon.close()
  daemons.splice(daemons.indexOf(daemon), 1)
  // The state after a connection that broke before the request reached the server.
  const state = new DatabaseSync(join(environment.SVC_STATE_DIR, 'state.db'))
  state
    .prepare('insert into meta values (?, ?)')
    .run('account_deletion', JSON.stringify({ session, at: Date.now() }))
  state.close()
  await move('suspend')
  const again = await started(environment)
  const context = () => again.request('GET', '/api/v1/context', { token: again.owner() })
  assert.equal((await context()).status, 403)
  await move('activate')
  assert.equal((await context()).status, 200)
})
