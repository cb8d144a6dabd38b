/**
 * Every error of the documents, caused at real servers. The answers are the examples of errors in
 * the documents: `UPDATE_EXAMPLES=1 node --test test/e2e/every-error.test.ts` rewrites them.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import type { Table } from '../../src/api/route.ts'
import { ACCOUNT_RULES, REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { type ErrorCode, toAppError } from '../../src/errors.ts'
import { newDispatch } from '../../src/http/dispatch.ts'
import { listen } from '../../src/http/server.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import { openKeychain } from '../../src/keychain/keychain.ts'
import { tokenEntry } from '../../src/state/tokens.ts'
import { deviceDocument } from '../../src/api/openapi/device.ts'
import { openapiDocument } from '../../src/api/openapi/document.ts'
import type { ErrorExamples } from '../../src/api/openapi/error-examples.ts'
import { type TestServer, askProven, signIn } from '../account-server.ts'
import { type Answer, type Question, type TestDaemon, ask, startDaemon } from '../daemon.ts'
import { newPage } from '../console/page.ts'
import { asOwner, newMachine } from '../handlers/people.ts'
import { openGate, openRules } from '../http/open-listener.ts'
import { type RawAnswer, answersIn, exchange, hostOf, send } from '../http/raw.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { json, scripted } from '../remote/scripted.ts'
import { newReach } from '../../src/service/db/faults.ts'

const EXAMPLES = join(import.meta.dirname, '../../src/api/openapi/error-examples.json')

type Bodies = ErrorExamples[keyof ErrorExamples]

/** Collects the first answer with each code. */
class Recorder {
  private readonly bodies = new Map<string, object>()

  /** Records an answer that must have this code. */
  note(code: ErrorCode, { body }: { readonly body: unknown }): void {
    // Only an OAuth client reads `error_description`, and the document does not have it.
    const { error, error_description: _, ...rest } = body as Record<string, unknown>
    assert.equal(error, code, JSON.stringify(body))
    if (!this.bodies.has(code)) this.bodies.set(code, rest)
  }

  json(code: ErrorCode, { json: body }: Answer): void {
    this.note(code, { body })
  }

  raw(code: ErrorCode, answers: readonly RawAnswer[]): void {
    this.note(code, { body: JSON.parse(answers.at(-1)?.body ?? 'null') as unknown })
  }

  /**
   * Returns the answers by code, without traces of the place and time of the recording.
   * @param port that of the server by default
   */
  recorded(port: number): Bodies {
    const sorted = [...this.bodies].toSorted(([a], [b]) => (a < b ? -1 : 1))
    const text = JSON.stringify(Object.fromEntries(sorted))
      .replaceAll(/account server http:[/][/]127\.0\.0\.1:\d+/g, `account server ${EXAMPLE}`)
      .replaceAll(/(127\.0\.0\.1|localhost):\d+/g, `$1:${port}`)
      .replaceAll(/ in \d+ s\./g, ' in 42 s.')
    return JSON.parse(text) as Bodies
  }
}

const readExamples = () => JSON.parse(readFileSync(EXAMPLES, 'utf8')) as ErrorExamples

/** Asserts that these answers are the examples of a server, or writes them. */
function assertRecorded(server: keyof ErrorExamples, bodies: Bodies): void {
  const examples = readExamples()
  if (process.env['UPDATE_EXAMPLES'] === '1')
    writeFileSync(EXAMPLES, `${JSON.stringify({ ...examples, [server]: bodies }, null, 2)}\n`)
  else
    assert.deepEqual(
      bodies,
      examples[server],
      `the ${server} answers other errors than ${EXAMPLES}: cause each code above, or run "npm run golden"`,
    )
}

type Shown = Readonly<Record<string, { readonly value: { error: string; message?: string } }>>

/** Returns the examples of errors in a document, by code. */
const examplesIn = (document: object): Shown =>
  (document as { components: { examples: Shown } }).components.examples

/** The address of an account server in examples. */
const EXAMPLE = 'https://countersign.example'

const JSON_TYPE = 'Content-Type: application/json'
const CLOSE = 'Connection: close'

/** Records the errors of requests that reach no row, at either listener. */
async function beforeRows(recorder: Recorder, address: string, path: string): Promise<void> {
  const host = `Host: ${hostOf(address)}`
  const get = (...lines: string[]) => exchange(address, [`GET ${path} HTTP/1.1`, ...lines, CLOSE])
  recorder.raw('bad_request', await exchange(address, ['GET']))
  recorder.raw('host_not_allowed', await get('Host: rebound.example'))
  recorder.raw('origin_not_allowed', await get(host, 'Origin: https://other.example'))
  recorder.raw('expectation_failed', await get(host, 'Expect: a miracle'))
  recorder.raw('headers_too_large', await get(host, `X-Large: ${'x'.repeat(17_000)}`))
}

/** Records the errors that need a fault of the machine: the same listener over planted rows. */
async function atPlantedRows(t: TestContext, recorder: Recorder): Promise<void> {
  const row = { by: 'daemon' } as const
  const table: Table = {
    things: {
      read: { ...row, method: 'GET', path: '/things/{id}' },
      create: { ...row, method: 'POST', path: '/things' },
    },
  }
  const things = {
    read: async ({ id }: { id: string }) => {
      throw Object.assign(new Error('fault'), id === 'full' ? { code: 'ENOSPC' } : {})
    },
    create: async () => undefined,
  }
  const server = await listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: () => undefined,
    dispatch: newDispatch<{ scope: 'read' }>(table, { things }, openGate),
    rules: (port) => ({
      ...openRules(port),
      tokenPaths: ['/api/v1/token'],
      peerAllowed: () => false,
    }),
    timeouts: { headers: 150, request: 300 },
  })
  t.after(() => server.close(0))
  const address = `http://127.0.0.1:${server.port}`
  const host = `Host: ${hostOf(address)}`
  recorder.json('storage_full', await ask(address, 'GET', '/things/full'))
  recorder.json('internal', await ask(address, 'GET', '/things/broken'))
  recorder.json('peer_not_allowed', await ask(address, 'POST', '/api/v1/token', { body: {} }))
  const stalled = await send(address, `GET /things/1 HTTP/1.1\r\n${host}\r\n`)
  recorder.raw('request_timeout', answersIn(stalled))

  const socket = connect({ host: '127.0.0.1', port: server.port })
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  const post = ['POST /things HTTP/1.1', host, JSON_TYPE, 'Content-Length: 2']
  socket.write(`${[...post, 'Expect: 100-continue'].join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  const stopped = server.close(10_000)
  socket.write(`{}GET /things/1 HTTP/1.1\r\n${host}\r\n\r\n`)
  await once(socket, 'close')
  await stopped
  recorder.raw('shutting_down', answersIn(text))
}

/** Records the errors of a daemon that is not signed in, at an account server with faults. */
async function atFaultyServer(t: TestContext, recorder: Recorder): Promise<void> {
  let status = 504
  let arrived: () => void = () => undefined
  let answer: Promise<void> = Promise.resolve()
  const server = await scripted(t, async (res) => {
    arrived()
    await answer
    json(res, status, {})
  })
  const daemon = await startDaemon({ SVC_BACKEND_URL: server.base })
  t.after(() => daemon.close())
  const token = daemon.owner()
  const begin = (headers: Question['headers'] = {}) =>
    daemon.request('POST', '/local/v1/sign-in', {
      token,
      headers,
      body: { email: 'ada@example.org' },
    })
  recorder.json('not_signed_in', await daemon.request('GET', '/api/v1/devices', { token }))
  recorder.json('backend_timeout', await begin())
  status = 200
  recorder.json('backend_error', await begin())

  const key = { 'Idempotency-Key': 'key' }
  const isThere = new Promise<void>((resolve) => (arrived = resolve))
  let release: () => void = () => undefined
  answer = new Promise((resolve) => (release = resolve))
  const first = begin(key)
  await isThere
  recorder.json('in_progress', await begin(key))
  release()
  await first
  await server.stop()
  recorder.json('backend_unavailable', await begin())
}

/** Records the errors of requests to a daemon without a fault; returns a token of it. */
async function atDaemon(daemon: TestDaemon, recorder: Recorder): Promise<string> {
  const { address } = daemon
  const token = await daemon.token('full')
  const read = await daemon.token('read')
  const machine = await newMachine(daemon)
  const asks = async (
    code: ErrorCode,
    [method, path]: readonly [string, string],
    question: Question = {},
  ) => recorder.json(code, await daemon.request(method, `/api/v1${path}`, { token, ...question }))
  const tags = ['POST', '/tags'] as const
  const verify = ['POST', '/verify'] as const

  await beforeRows(recorder, address, '/api/v1/status')
  await asks('unauthorized', ['GET', '/status'], { token: undefined })
  await asks('invalid_token', ['GET', '/status'], { token: 'csd_x' })
  await asks('insufficient_scope', ['POST', '/connections'], { token: read, body: {} })
  await asks('no_active_organisation', ['GET', '/org/members'])
  await asks('forbidden', ['POST', '/org'], {
    token: await machine.token('full'),
    body: { name: 'Acme' },
  })
  await asks('invalid_json', tags, { body: '{"name": Work}' })
  await asks('validation_failed', tags, { body: { name: '' } })
  await asks('payload_too_large', tags, { body: { name: 'x'.repeat(1024 * 1024) } })
  await asks('unsupported_media_type', tags, {
    body: 'name=Work',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': '9' },
  })
  const keyed = (name: string) => ({ body: { name }, headers: { 'Idempotency-Key': 'key' } })
  await daemon.request('POST', '/api/v1/tags', { token, ...keyed('Work') })
  await asks('idempotency_mismatch', tags, keyed('Home'))
  await asks('conflict', tags, { body: { name: 'Work' } })
  const { id } = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/connections', {
    name: 'Bank',
  })
  await asks('not_found', ['GET', '/connections/con_00000000000000000000000000'])
  await asks('no_device', ['GET', `/connections/${id}/code`], {
    token: await machine.token('read'),
  })
  await asks('word_count', verify, { body: { words: wordsAt([1, 2]).join(' ') } })
  await asks('unknown_word', verify, { body: { words: `matadore ${wordsAt([1, 2]).join(' ')}` } })
  await asks('too_long', ['POST', '/verify/challenges'], {
    body: { connection_id: id, purpose: 'x'.repeat(70) },
  })
  for (let wrong = 0; wrong < 20; wrong += 1)
    await daemon.request('POST', '/api/v1/verify', {
      token,
      body: { words: wordsAt([wrong, wrong + 100, wrong + 200]).join(' ') },
    })
  await asks('rate_limited', verify, { body: { words: wordsAt([1, 2, 3]).join(' ') } })
  const { items } = await asOwner<{ items: { id: string }[] }>(daemon, 'GET', '/api/v1/devices')
  await asks('invalid_state', ['DELETE', `/devices/${items[0]?.id}`])
  return token
}

/** Starts a daemon over a state folder, and closes it after the work. */
async function during<T>(stateDir: string, work: (daemon: TestDaemon) => Promise<T>): Promise<T> {
  const daemon = await startDaemon({ SVC_STATE_DIR: stateDir })
  try {
    return await work(daemon)
  } finally {
    await daemon.close()
  }
}

/** Changes a database of a state folder while no daemon has it open. */
function alter(stateDir: string, file: string, sql: string): void {
  const db = new DatabaseSync(join(stateDir, file))
  db.exec(sql)
  db.close()
}

/** Opens a console; returns its token and its key. */
async function openedPage(daemon: TestDaemon) {
  const page = newPage(daemon)
  const { id, token } = await page.open('full')
  return { id, token, key: page.key }
}

/** Makes a console two minutes older while no daemon uses the keychain. */
function age(keychain: Keychain, id: string): void {
  const record = JSON.parse(keychain.get(tokenEntry(id)) ?? assert.fail()) as {
    created_at: number
  }
  const older = { ...record, created_at: record.created_at - 120_000 }
  keychain.set(tokenEntry(id), JSON.stringify(older))
}

describe('every error of the documents is an answer of a server', () => {
  it('of a daemon', async (t) => {
    const recorder = new Recorder()
    const stateDir = freshFolder(t)
    const { page, token, guest, made } = await during(stateDir, async (daemon) => ({
      page: await openedPage(daemon),
      token: await atDaemon(daemon, recorder),
      guest: await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/guest-codes', { label: 'A' }),
      made: await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/exports'),
    }))
    alter(stateDir, 'state.db', 'delete from secrets')
    alter(stateDir, 'account.db', "update exports set state = 'failed'")
    await during(stateDir, async (daemon) => {
      const read = (path: string) => daemon.request('GET', `/api/v1${path}`, { token })
      recorder.json('secret_unavailable', await read(`/guest-codes/${guest.id}/qr`))
      recorder.json('export_not_ready', await read(`/exports/${made.id}/download`))
    })
    const keychain = await openKeychain({ stateDir, choice: 'file', credentialsDir: null })
    age(keychain, page.id)
    await during(stateDir, async (daemon) => {
      recorder.json(
        'insufficient_user_authentication',
        await newPage(daemon, page.key).send('DELETE', '/api/v1/account', { token: page.token }),
      )
    })
    keychain.delete('device')
    await during(stateDir, async (daemon) => {
      const body = { content: 'Invoice 4711' }
      recorder.json(
        'keychain_locked',
        await daemon.request('POST', '/api/v1/stamp', { token, body }),
      )
    })
    await atPlantedRows(t, recorder)
    await atFaultyServer(t, recorder)
    const bodies = recorder.recorded(19821)
    assertRecorded('daemon', bodies)
    const need = scopeTable(REST_RULES)
    assert.deepEqual(
      Object.keys(bodies),
      Object.keys(examplesIn(openapiDocument({ table: rest, version: '0', need }))).toSorted(),
    )
  })

  it('of an account server', async (t) => {
    const recorder = new Recorder()
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const at: TestServer['request'] = (method, path, question) =>
      ask(daemon.accountAddress, method, path, question)
    const server: TestServer = { ...daemon, address: daemon.accountAddress, request: at }
    await beforeRows(recorder, server.address, '/device/v1/duties')
    const machine = await newMachine(daemon)
    const ada = await signIn(server, 'ada@example.com')
    const asAda = async (code: ErrorCode, method: string, path: string, body?: unknown) =>
      recorder.json(code, await askProven(server, method, path, ada.credentials, { body }))
    recorder.json('unauthorized', await at('GET', '/device/v1/duties'))
    recorder.json('invalid_token', await at('GET', '/device/v1/duties', { token: 'x' }))
    recorder.json(
      'insufficient_scope',
      await at('POST', '/device/v1/lookups', { token: await machine.token('read'), body: {} }),
    )
    const form = 'application/x-www-form-urlencoded'
    recorder.json(
      'invalid_client',
      await at('POST', '/oauth/token', {
        body: `grant_type=client_credentials&client_assertion_type=${encodeURIComponent('urn:ietf:params:oauth:client-assertion-type:jwt-bearer')}&client_assertion=x.y.z`,
        headers: { 'Content-Type': form },
      }),
    )
    await asAda('forbidden', 'GET', '/device/v1/token')
    await asAda('not_found', 'GET', '/device/v1/key-logs/acc_00000000000000000000000000')
    await asAda('validation_failed', 'POST', '/device/v1/consents', {})
    await asAda('invalid_state', 'POST', '/api/v1/trust-cards', { email: 'ada@example.com' })
    await asAda(
      'no_device',
      'POST',
      rest.invitations.approve.path.replace('{id}', 'inv_00000000000000000000000000'),
    )
    const begin = () => at('POST', '/device/v1/sign-ins', { body: { email: 'bea@example.com' } })
    for (let code = 0; code < 5; code += 1) await begin()
    recorder.json('rate_limited', await begin())
    await newReach(() => true)
      .reaching(() => Promise.reject(new Error('The database is away.')))
      .catch((error: unknown) =>
        recorder.note('backend_unavailable', { body: toAppError(error).toJSON() }),
      )
    const bodies = recorder.recorded(19822)
    assertRecorded('account server', bodies)
    const { daemon: words, 'account server': own } = readExamples()
    const codes = Object.keys(examplesIn(deviceDocument(scopeTable(ACCOUNT_RULES))))
    assert.deepEqual(
      codes.filter((code) => !(code in { ...words, ...own })),
      [],
    )
  })
})
