/** The file of an export, fetched over HTTP by a client that has the link. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import {
  type Device,
  type TestServer,
  askProven,
  signIn,
  startAccountServer,
} from '../../account-server.ts'
import { exportRow } from './exports-subject.ts'

const PIECE = 256 * 1024
const PIECES = 40

/** Stores an export of ten megabytes and returns the link to its file. */
async function linkOn(server: TestServer, { id, credentials }: Device): Promise<URL> {
  const at = Date.now()
  const row = exportRow(id, at, {
    state: 'ready',
    size_bytes: PIECES * PIECE,
    finished_at: at,
    expires_at: at + 60_000_000,
  })
  const database = new DatabaseSync(join(server.stateDir, 'account.db'))
  const names = Object.keys(row)
  database
    .prepare(`insert into exports (${names.join()}) values (${names.map(() => '?').join()})`)
    .run(...Object.values(row))
  const insert = database.prepare('insert into export_parts values (?, ?, ?)')
  for (let seq = 0; seq < PIECES; seq++) insert.run(row.id, seq, new Uint8Array(PIECE).fill(seq))
  database.close()
  const path = `/api/v1/exports/${row.id}/download`
  const { status, json } = await askProven(server, 'GET', path, credentials)
  assert.equal(status, 200)
  return new URL((json as { url: string }).url)
}

async function arranged(t: TestContext) {
  const server = await startAccountServer(t)
  const ada = await signIn(server, 'ada@example.org')
  return { server, ada, url: await linkOn(server, ada) }
}

/** Requests a file; returns before the body is read. */
async function answerTo(url: URL, headers: Record<string, string> = {}, method = 'GET') {
  const req = request(url, { method, headers })
  req.on('error', () => undefined)
  req.end()
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  return { req, res }
}

const noises = ({ log }: TestServer) => log.filter((line) => /"level":"(error|warn)"/.test(line))

test('the bearer of the link gets the whole file, with its length and a name', async (t) => {
  const { server, url } = await arranged(t)
  const { res } = await answerTo(url)
  assert.equal(res.statusCode, 200)
  assert.equal(res.headers['content-type'], 'application/zip')
  assert.equal(res.headers['content-length'], String(PIECES * PIECE))
  assert.match(
    res.headers['content-disposition']!,
    /^attachment; filename="countersign-export-\d{4}-\d\d-\d\d\.zip"$/,
  )
  assert.equal(res.headers['cache-control'], 'no-store')
  const bytes = await buffer(res)
  assert.equal(bytes.length, PIECES * PIECE)
  for (let seq = 0; seq < PIECES; seq++) assert.equal(bytes[seq * PIECE], seq)
  assert.deepEqual(noises(server), [])
})

test('a link can be opened from another site, but a page there cannot read the file', async (t) => {
  const { url } = await arranged(t)
  const opened = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }
  const { res, req } = await answerTo(url, opened)
  assert.equal(res.statusCode, 200)
  req.destroy()
  const read = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors', Origin: 'https://a.b' }
  assert.equal((await answerTo(url, read)).res.statusCode, 403)
})

test('a wrong link gets an error in the common format and no data of the file', async (t) => {
  const { server, url, ada } = await arranged(t)
  for (const [name, value] of [
    ['signature', 'x'],
    ['expires', '99999999999'],
  ] as const) {
    const wrong = new URL(url)
    wrong.searchParams.set(name, value)
    const { status, json, text } = await server.request('GET', wrong.pathname + wrong.search)
    assert.equal(status, 404)
    assert.equal((json as { error: string }).error, 'not_found')
    assert.doesNotMatch(text, /exp_|acc_/)
  }
  const bare = await server.request('GET', url.pathname)
  assert.equal(bare.status, 404)
  const { status } = await askProven(server, 'GET', url.pathname, ada.credentials)
  assert.equal(status, 404, 'a session is no link')
})

test('a client that disconnects leaves no work running and no error in the log', async (t) => {
  const { server, url } = await arranged(t)
  const { res, req } = await answerTo(url)
  await once(res, 'data')
  const closed = new Promise<void>((resolve) =>
    res.on('error', () => undefined).once('close', resolve),
  )
  req.destroy()
  await closed
  const { res: whole } = await answerTo(url)
  assert.equal((await buffer(whole)).length, PIECES * PIECE)
  await server.close()
  assert.deepEqual(noises(server), [])
})

test('an export deleted during its download breaks the download off', async (t) => {
  const { server, url, ada } = await arranged(t)
  const { res } = await answerTo(url)
  await once(res, 'data')
  res.pause()
  const { status } = await askProven(server, 'DELETE', '/api/v1/exports', ada.credentials)
  assert.equal(status, 200)
  await assert.rejects(buffer(res), { code: 'ECONNRESET' })
  const after = await server.request('GET', url.pathname + url.search)
  assert.equal(after.status, 404)
})
