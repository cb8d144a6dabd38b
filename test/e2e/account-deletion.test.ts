/**
 * Deletes an account through the API of its daemon: the data left on its disk, and the answers to
 * its callers.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startAccountServer } from '../account-server.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import type { Json } from './caller.ts'
import { filesIn } from './kept.ts'
import { login } from './servers.ts'

/** Starts a daemon and creates something of each kind that a device stores. */
async function populated(t: TestContext, env: Record<string, string>) {
  const stateDir = env['SVC_STATE_DIR'] as string
  let daemon = await startDaemon(env)
  t.after(() => daemon.close())
  const token = await daemon.token('write')
  const other = await daemon.token('full')
  const ask = async (method: string, path: string, body?: object): Promise<Json> => {
    const { status, json, text } = await daemon.request(method, path, { token, body })
    assert(status < 300, `${method} ${path}: ${status} ${text}`)
    return json
  }
  const { user } = await ask('GET', '/api/v1/context')
  const { items: devices } = await ask('GET', '/api/v1/devices')
  const connection = await ask('POST', '/api/v1/connections', {
    name: 'Aunt Augusta',
    invite: [{ email: 'bob@example.org' }],
  })
  const guest = await ask('POST', '/api/v1/guest-codes', { label: 'The plumber' })
  const stamp = await ask('POST', '/api/v1/stamp', { content: 'A contract.' })
  const { words } = await ask('GET', `/api/v1/connections/${connection.id}/code`)
  await ask('POST', '/api/v1/verify', { words })
  const { items: tokens } = (await daemon.request('GET', '/api/v1/api-tokens', { token: other }))
    .json as Json
  const names = [
    user.id,
    devices[0].id,
    connection.id,
    guest.id,
    stamp.id,
    ...tokens.map(({ id }: Json) => id),
    'Aunt Augusta',
    'The plumber',
    stamp.stamp,
  ] as string[]
  const isAudit = (name: string) => name.startsWith('audit')
  const among = (files: readonly Buffer[]) =>
    names.filter((name) => files.some((bytes) => bytes.includes(name)))
  // The audit log keeps its entries after the deletion; of the created data it has only the ids.
  const found = () => [
    ...among(filesIn(stateDir, (name) => !isAudit(name))),
    ...among(filesIn(stateDir, isAudit)).filter((name) => !/^(?:con|gst|stm|tok)_/.test(name)),
  ]
  const restart = async (): Promise<TestDaemon> => {
    await daemon.close()
    return (daemon = await startDaemon(env))
  }
  return { daemon, token, other, user, found, restart, stateDir }
}

type Populated = Awaited<ReturnType<typeof populated>>

/** Returns the keychain entries of secrets. An empty daemon has none. */
const sealed = (stateDir: string) =>
  readdirSync(join(stateDir, 'keychain')).filter((name) => name.endsWith('.sealed'))

async function deleted({ daemon, token, other, found, stateDir }: Populated) {
  const reading = (
    await daemon.request('POST', '/api/v1/token', { body: { name: 'r', scope: 'read' } })
  ).json as Json
  const narrow = await daemon.request('DELETE', '/api/v1/account', { token: reading.token })
  assert.equal(narrow.status, 403)
  assert(found().length > 5)
  const gone = await daemon.request('DELETE', '/api/v1/account', { token })
  assert.deepEqual([gone.status, gone.text], [204, ''])
  assert.deepEqual(found(), [])
  assert.deepEqual(sealed(stateDir), [])
  for (const one of [token, other, reading.token])
    assert.equal((await daemon.request('GET', '/api/v1/context', { token: one })).status, 401)
  const fresh = await daemon.token('write')
  for (const [method, path] of [
    ['GET', '/api/v1/context'],
    ['DELETE', '/api/v1/account'],
    ['GET', '/api/v1/connections'],
  ] as const) {
    const { status, json } = await daemon.request(method, path, { token: fresh })
    assert.deepEqual([status, (json as Json).error], [409, 'not_signed_in'], path)
  }
  return fresh
}

/** Returns the status of a token that was created before the present account. */
const statusOf = async (daemon: TestDaemon, token: string) =>
  (await daemon.request('GET', '/api/v1/status', { token })).status

describe('deleting an account', () => {
  it('of the embedded account server: the next start makes another, empty one', async (t) => {
    const home = await populated(t, { SVC_STATE_DIR: freshFolder(t) })
    const between = await deleted(home)
    const daemon = await home.restart()
    assert.deepEqual(home.found(), [])
    assert.equal(await statusOf(daemon, between), 401)
    const token = await daemon.token('read')
    const { user } = (await daemon.request('GET', '/api/v1/context', { token })).json as Json
    assert.notEqual(user.id, home.user.id)
    const { json } = await daemon.request('GET', '/api/v1/connections', { token })
    assert.deepEqual((json as Json).items, [])
  })

  it('of a remote account server: the daemon has no account, and a user can sign in again', async (t) => {
    const mailDir = freshFolder(t)
    const server = await startAccountServer(t, { SVC_MAIL_DIR: mailDir })
    const stateDir = freshFolder(t)
    const who = { server: server.address, mailDir, email: 'ada@example.org' }
    await login(stateDir, who)
    const env = { SVC_STATE_DIR: stateDir, SVC_BACKEND_URL: server.address }
    const home = await populated(t, env)
    const between = await deleted(home)
    const files = filesIn(server.stateDir)
    assert(files.every((bytes) => !bytes.includes(home.user.id)))
    const daemon = await home.restart()
    const { status, json } = await daemon.request('GET', '/api/v1/context', {
      token: await daemon.token('read'),
    })
    assert.deepEqual([status, (json as Json).error], [409, 'not_signed_in'])
    await login(stateDir, who)
    assert.equal(await statusOf(daemon, between), 401)
    const token = await daemon.token('read')
    const { user } = (await daemon.request('GET', '/api/v1/context', { token })).json as Json
    assert.notEqual(user.id, home.user.id)
  })
})
