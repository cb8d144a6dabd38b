/**
 * The REST document: valid by two validators, the same as the committed golden, nothing in it but the table, and true: a live
 * daemon answers as it says. After an intended change, `UPDATE_GOLDEN=1 node --test test/openapi.test.ts` writes the golden anew.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import * as v from 'valibot'
import { rest } from '../src/api/rest/index.ts'
import type { Route } from '../src/api/route.ts'
import { REST, scopeTable } from '../src/auth/scopes.ts'
import { rowsOf } from '../src/dispatch.ts'
import { CODES, statusOf } from '../src/errors.ts'
import { openapiDocument } from '../src/openapi.ts'
import { type Question, type TestDaemon, startDaemon } from './daemon.ts'
import { askedBy } from './e2e/asking.ts'
import { signIn } from './handlers/people.ts'

type Json = Record<string, unknown>
interface Operation {
  readonly operationId: string
  readonly security?: unknown[]
  readonly parameters?: { name: string; in: string; $ref?: string }[]
  readonly requestBody?: { required: boolean }
  readonly responses: Record<string, { content?: Record<string, unknown> }>
}

const GOLDEN = join(import.meta.dirname, 'golden/openapi.json')
const need = scopeTable(REST)
const made = openapiDocument({ table: rest, version: '0.0.0', need })
const document = JSON.parse(JSON.stringify(made)) as Json & {
  info: Json
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json>; parameters: Record<string, Json> }
}

test('it is what was committed', () => {
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(GOLDEN, text)
  assert.deepEqual(document, JSON.parse(readFileSync(GOLDEN, 'utf8')))
})

test('the schema of OpenAPI 3.1 takes it', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  assert(valid, JSON.stringify(errors, null, 1))
  assert.match(document['openapi'] as string, /^3\.1\./)
})

test('that validator would notice a fault', async () => {
  const broken = structuredClone(document)
  for (const parameter of broken.paths['/api/v1/connections/{id}']?.['get']?.parameters ?? [])
    parameter.in = 'pathway'
  assert.equal((await new Validator().validate(broken)).valid, false)
})

test('redocly finds no error in it', async () => {
  const cli = join(import.meta.dirname, '../node_modules/@redocly/cli/bin/cli.js')
  const { status, output } = await new Promise<{ status: number; output: string }>((resolve) =>
    execFile(
      process.execPath,
      [cli, 'lint', GOLDEN, '--extends=minimal', '--format=json'],
      {
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        maxBuffer: 1 << 24,
      },
      (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : 1, output: stdout + stderr }),
    ),
  )
  const totals = /"totals":\s*{[^}]*"errors":\s*(\d+)/.exec(output)?.[1]
  assert.deepEqual([status, totals], [0, '0'], output.slice(0, 4000))
})

const rows = rowsOf(rest).flatMap(
  ({ group, name, route }: { group: string; name: string; route: Route }) =>
    (route.also === undefined ? [route.path] : [route.path, route.also]).map((path) => ({
      group,
      name,
      route,
      path,
    })),
)
const operationOf = (route: Route, path: string): Operation =>
  document.paths[path]?.[route.method.toLowerCase()] ??
  assert.fail(`${route.method} ${path} is not in it`)

test('every row is in it, and nothing else', () => {
  const inDocument = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(
    inDocument.toSorted(),
    rows.map(({ route, path }) => `${route.method} ${path}`).toSorted(),
  )
})

test('each operation has an id of its own, its path’s parameters and its need', () => {
  const ids = new Set<string>()
  for (const { route, path } of rows) {
    const {
      operationId,
      parameters = [],
      security,
      responses,
      requestBody,
    } = operationOf(route, path)
    assert(!ids.has(operationId), operationId)
    ids.add(operationId)
    const inPath = parameters.filter((it) => it.in === 'path').map(({ name }) => `{${name}}`)
    assert.deepEqual(inPath, path.match(/{\w+}/g) ?? [])
    const needed = need(route.method, path.slice(1).split('/'))
    assert.deepEqual(security, needed === 'none' ? [] : undefined)
    assert.equal('401' in responses, needed !== 'none')
    assert.equal('403' in responses, needed === 'write' || needed === 'full')
    assert.equal(requestBody !== undefined, route.by !== 'pending' && route.body !== undefined)
    assert.equal('501' in responses, route.by === 'pending')
    if (route.by !== 'pending') assert(String(route.status ?? 200) in responses)
  }
})

test('a body that may be left out is not required', () => {
  assert.equal(
    operationOf(rest.connections.favorite, rest.connections.favorite.path).requestBody?.required,
    false,
  )
  assert.equal(operationOf(rest.stamp.create, rest.stamp.create.path).requestBody?.required, true)
})

/** Every value under a name, however deep. */
function* under(name: string, value: unknown): Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === name) yield inner
    yield* under(name, inner)
  }
}

test('every reference leads to a component, and every component is referred to', () => {
  const refs = new Set([...under('$ref', document)] as string[])
  const names = new Set(
    (['schemas', 'parameters'] as const).flatMap((kind) =>
      Object.keys(document.components[kind]).map((name) => `#/components/${kind}/${name}`),
    ),
  )
  assert.deepEqual(
    [...refs].filter((ref) => !names.has(ref)),
    [],
  )
  assert.deepEqual(
    [...names].filter((name) => !refs.has(name)),
    [],
  )
})

test('every pattern is one of ECMA-262 with u, as JSON Schema recommends', () => {
  const patterns = [...under('pattern', document)] as string[]
  assert(patterns.length > 3)
  for (const pattern of patterns) assert.doesNotThrow(() => new RegExp(pattern, 'u'), pattern)
  assert(patterns.some((pattern) => pattern.includes('\\p{')))
})

test('a pattern says what the server takes: it has no flags that the document would lose', () => {
  const all = [...under('requirement', rest)].filter((it) => it instanceof RegExp)
  assert(all.length > 3)
  for (const { source, flags } of all) assert(['', 'u'].includes(flags), `${source} ${flags}`)
  const mailbox = 'Ada.Lovelace@Mail.EXAMPLE.org'
  const { pattern } = [...under('email', document.paths['/api/v1/trust-cards'])][0] as Json
  assert.match(mailbox, new RegExp(pattern as string, 'u'))
  assert.doesNotMatch(`${mailbox}-`, new RegExp(pattern as string, 'u'))
})

test('the Idempotency-Key is named where it works: at each POST but those that are worth repeating', () => {
  const ref = '#/components/parameters/IdempotencyKey'
  const named = rows
    .filter(({ route, path }) =>
      operationOf(route, path).parameters?.some(({ $ref }) => $ref === ref),
    )
    .map(({ route, path }) => `${route.method} ${path}`)
  const repeating = /^\/api\/v1\/(token|api-tokens|guest-codes|verify|verify\/public|sync|chat)$/
  const wanted = rows
    .filter(
      ({ route, path }) =>
        route.method === 'POST' && route.by !== 'pending' && !repeating.test(path),
    )
    .map(({ path }) => `POST ${path}`)
  assert.deepEqual(named, wanted)
  assert(named.includes('POST /api/v1/connections'))
})

test('requests are closed, replies are open', () => {
  const { schemas } = document.components
  assert.equal(schemas['NewToken']?.['additionalProperties'], false)
  for (const name of ['Status', 'Connection', 'Stamp', 'Verification'])
    assert.notEqual(schemas[name]?.['additionalProperties'], false, name)
  assert.deepEqual(schemas['NewToken']?.['required'], ['name', 'scope'])
})

test('the error schema knows every code', () => {
  const text = JSON.stringify(document.components.schemas['Error'])
  for (const code of CODES) {
    assert(text.includes(code), code)
    assert(statusOf(code) >= 400)
  }
})

let daemon: TestDaemon
before(async () => {
  daemon = await startDaemon()
})
after(() => daemon.close())

test('the daemon serves it, and the same each time', async () => {
  const get = () => daemon.request('GET', '/api/v1/openapi.json')
  const { status, json, headers, text } = await get()
  assert.deepEqual([status, headers['content-type']], [200, 'application/json'])
  const { info, ...served } = json as { info: Json }
  const { info: goldenInfo, ...golden } = document
  assert.deepEqual(served, golden)
  assert.deepEqual({ ...info, version: '0.0.0' }, goldenInfo)
  assert.equal((await get()).text, text)
})

test('the docs page lists every route', async () => {
  const { status, headers, text } = await daemon.request('GET', '/api/v1/docs')
  assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'])
  for (const { route } of rows) assert(text.includes(`<code>${route.path}</code>`), route.path)
  assert(!/<script/i.test(text))
})

test('a live daemon answers as the document says', async (t) => {
  const token = await daemon.token('full')
  const answered = new Set<string>()

  /** Ask, and hold the answer against the row. */
  async function call(
    route: Route,
    path: string,
    { of = daemon, ...question }: Question & { of?: TestDaemon } = {},
  ): Promise<Json> {
    assert(route.by !== 'pending')
    const answer = await of.request(route.method, path, { token, ...question })
    assert.equal(answer.status, route.status ?? 200, `${route.method} ${path}: ${answer.text}`)
    const content = operationOf(route, route.path).responses[String(answer.status)]?.content ?? {}
    const type = answer.headers['content-type']
    assert.deepEqual(
      type === undefined ? [] : [type],
      Object.keys(content).filter((it) => type === undefined || it === type),
    )
    if (route.reply !== undefined && !('media' in route.reply)) {
      const { success, issues } = v.safeParse(route.reply, answer.json)
      assert(
        success,
        `${route.method} ${path}: ${JSON.stringify(issues?.map((it) => [v.getDotPath(it), it.message]))}`,
      )
    }
    answered.add(`${route.method} ${route.path}`)
    return answer.json as Json
  }
  const at = (path: string, id: unknown) => path.replace('{id}', id as string)

  await call(rest.health.read, '/api/v1/health')
  await call(rest.status.read, '/api/v1/status')
  await call(rest.sync.run, '/api/v1/sync')
  await call(rest.sync.read, '/api/v1/sync')
  await call(rest.openapi.read, '/api/v1/openapi.json')
  await call(rest.docs.read, '/api/v1/docs')
  const minted = await call(rest.token.create, '/api/v1/token', {
    body: { name: 'n', scope: 'read', label: 'l', expires_in: 60 },
  })
  await call(rest.apiTokens.create, '/api/v1/api-tokens', { body: { name: 'n', scope: 'write' } })
  await call(rest.apiTokens.delete, at(rest.apiTokens.delete.path, minted['id']))
  await call(rest.apiTokens.list, '/api/v1/api-tokens')
  const { user } = await call(rest.context.read, '/api/v1/context')
  await call(rest.profiles.read, at(rest.profiles.read.path, (user as Json)['id']))
  await call(rest.profiles.keys, at(rest.profiles.keys.path, (user as Json)['id']))

  // Ada's laptop, and her phone, which waits to be approved there.
  const settings = { SVC_BACKEND_URL: daemon.accountAddress }
  const [laptop, phone] = await Promise.all([startDaemon(settings), startDaemon(settings)])
  t.after(() => Promise.all([laptop.close(), phone.close()]))
  for (const one of [laptop, phone]) await signIn(one, daemon, 'ada@example.org')
  const onLaptop = { of: laptop, token: await laptop.token('write') }
  const { items } = await call(rest.devices.list, '/api/v1/devices', onLaptop)
  const [newest] = items as Json[]
  assert.equal(newest?.['state'], 'pending')
  await call(rest.devices.delete, at(rest.devices.delete.path, newest['id']), onLaptop)

  const { id } = await call(rest.connections.create, '/api/v1/connections', {
    body: { name: 'Ärger' },
  })
  await call(rest.connections.read, at(rest.connections.read.path, id))
  await call(rest.connections.update, at(rest.connections.update.path, id), {
    body: { favorite: true },
  })
  await call(rest.connections.favorite, at(rest.connections.favorite.path, id))
  await call(rest.connections.list, '/api/v1/connections?limit=1')
  const code = await call(rest.connections.code, at(rest.connections.code.path, id))

  const guest = await call(rest.guestCodes.create, '/api/v1/guest-codes', {
    body: { label: 'A friend' },
  })
  await call(rest.guestCodes.qr, at(rest.guestCodes.qr.path, guest['id']))
  await call(rest.guestCodes.qr, `${at(rest.guestCodes.qr.path, guest['id'])}?format=gif`)
  await call(rest.guestCodes.list, '/api/v1/guest-codes')

  // The own words, repeated back, and words of nobody.
  await call(rest.verify.words, '/api/v1/verify', { body: { words: code['words'] } })
  await call(rest.verify.words, '/api/v1/verify', {
    body: { words: ['matador', 'carload', 'recede'] },
  })
  await call(rest.verificationLog.list, '/api/v1/verification-log')

  const sha256 = createHash('sha256').update('x').digest('hex')
  for (const body of [
    { content: 'x' },
    { content_base64: 'eA==', media_type: 'text/plain', context: 'c' },
    { sha256 },
  ])
    assert.equal((await call(rest.stamp.create, '/api/v1/stamp', { body }))['sha256'], sha256)

  await call(rest.guestCodes.delete, at(rest.guestCodes.delete.path, guest['id']))

  const ada = (await call(rest.context.read, '/api/v1/context', onLaptop))['user'] as Json
  const invite = (body: Json) => call(rest.members.add, at(rest.members.add.path, id), { body })
  const act = (route: Route, invitation: Json, question = {}) =>
    call(route, at(route.path, invitation['id']), question)
  await act(rest.invitations.withdraw, await invite({ email: 'nobody@example.org' }))
  await act(rest.invitations.decline, await invite({ user_id: ada['id'] }), onLaptop)
  await act(rest.invitations.approve, await invite({ user_id: ada['id'] }), onLaptop)
  await call(rest.invitations.list, '/api/v1/invitations', onLaptop)
  await call(rest.invitations.pending, '/api/v1/invitations/pending')
  await call(rest.sync.run, '/api/v1/sync')
  await call(rest.connections.read, at(rest.connections.read.path, id), onLaptop)
  const ofAda = (path: string) => at(path, id).replace('{mid}', ada['id'] as string)
  await call(rest.members.remove, ofAda(rest.members.remove.path))

  const card = (route: Route, question = {}) => call(route, at(route.path, ada['id']), question)
  await call(rest.trustCards.create, '/api/v1/trust-cards', { body: { user_id: ada['id'] } })
  await call(rest.trustCards.list, '/api/v1/trust-cards')
  await card(rest.trustCards.update, { body: { note: 'A friend', confirmed: true } })
  await card(rest.trustCards.history)
  await call(rest.trust.metrics, '/api/v1/trust/metrics')
  await card(rest.trustCards.delete)

  await call(rest.preferences.read, '/api/v1/preferences')
  await call(rest.preferences.update, '/api/v1/preferences', { body: { public_code: true } })
  await call(rest.profile.update, '/api/v1/profile', { body: { headline: 'At home' } })
  const own = await call(rest.profile.read, '/api/v1/profile')
  const { words } = own['public_code'] as Json
  const found = await call(rest.verify.public, '/api/v1/verify/public', {
    ...onLaptop,
    body: { words },
  })
  assert.equal(found['found'], true)

  const tag = await call(rest.tags.create, '/api/v1/tags', { body: { name: 'Work' } })
  await call(rest.tags.update, at(rest.tags.update.path, tag['id']), { body: { color: '#2453b8' } })
  const tagged = (path: string) => at(path, tag['id']).replace('{cid}', id as string)
  await call(rest.tags.assign, tagged(rest.tags.assign.path))
  await call(rest.tags.unassign, tagged(rest.tags.unassign.path))
  await call(rest.tags.list, '/api/v1/tags')
  const preset = await call(rest.presets.create, '/api/v1/presets', {
    body: { name: 'Customers', tag_ids: [tag['id']] },
  })
  const onPreset = (route: Route, question = {}) =>
    call(route, at(route.path, preset['id']), question)
  await onPreset(rest.presets.update, { body: { invitation_expires_in: 86_400 } })
  await onPreset(rest.presets.setDefault)
  await call(rest.presets.list, '/api/v1/presets')
  await call(rest.presets.clearDefault, '/api/v1/presets/default')
  await onPreset(rest.presets.delete)
  await call(rest.tags.delete, at(rest.tags.delete.path, tag['id']))

  const external = await call(rest.externalMembers.create, '/api/v1/external-members', {
    body: { display_name: 'Plumber', email: 'plumber@example.org' },
  })
  const theirs = await call(rest.guestCodes.create, '/api/v1/guest-codes', {
    body: { label: 'Plumber', external_member_id: external['id'] },
  })
  await call(rest.guestCodes.send, at(rest.guestCodes.send.path, theirs['id']), {
    body: { channel: 'email' },
  })
  await call(rest.externalMembers.list, '/api/v1/external-members')
  await call(rest.externalMembers.delete, at(rest.externalMembers.delete.path, external['id']))

  await call(rest.openLinks.suggest, '/api/v1/open-links/suggest')
  const link = await call(rest.openLinks.create, '/api/v1/open-links', { body: { title: 'Hello' } })
  const onLink = (route: Route, question = {}) => call(route, at(route.path, link['id']), question)
  await onLink(rest.openLinks.pause)
  await onLink(rest.openLinks.resume)
  const { url } = await onLink(rest.openLinks.slug, { body: { slug: 'say-hello' } })
  for (const asking of ['carl@example.org', 'dora@example.org'])
    await askedBy(url as string, join(daemon.stateDir, 'mail'), asking)
  const requests = (await call(rest.openLinkRequests.list, '/api/v1/open-links/requests'))['items']
  const [declined, approved] = requests as Json[]
  await act(rest.openLinkRequests.decline, declined!)
  await act(rest.openLinkRequests.approve, approved!)
  await call(rest.openLinks.list, '/api/v1/open-links')
  await onLink(rest.openLinks.delete)

  await call(rest.context.activeOrg, '/api/v1/context/active-org', {
    body: { organisation_id: null },
  })
  await call(rest.emails.create, '/api/v1/emails', { body: { address: 'second@example.org' } })
  await call(rest.emails.list, '/api/v1/emails')
  const sessions = (await call(rest.sessions.list, '/api/v1/sessions', onLaptop))['items'] as Json[]
  const other = sessions.find(({ current }) => current !== true)
  assert.equal(other, undefined, 'the phone was turned away with its session')
  await call(rest.notifications.list, '/api/v1/notifications')
  await call(rest.notifications.read, '/api/v1/notifications/read')
  await call(rest.notifications.delete, '/api/v1/notifications')

  const turn = await call(rest.chat.turn, '/api/v1/chat', { body: { message: 'What is a stamp?' } })
  await call(rest.chat.rate, '/api/v1/chat/rate', {
    body: { turn_id: turn['turn_id'], rating: 'up' },
  })
  await call(rest.feedback.send, '/api/v1/feedback', { body: { message: 'Well done.' } })

  await call(rest.exports.create, '/api/v1/exports')
  let exported: Json
  do {
    const { items: all } = await call(rest.exports.list, '/api/v1/exports')
    ;[exported] = all as [Json]
  } while (exported['state'] !== 'ready')
  await call(rest.exports.download, at(rest.exports.download.path, exported['id']))
  await call(rest.exports.clear, '/api/v1/exports')

  await call(rest.connections.delete, at(rest.connections.delete.path, id))
  await call(rest.account.delete, '/api/v1/account', onLaptop)

  const implemented = rowsOf(rest).filter(({ route }) => (route as Route).by !== 'pending')
  assert.deepEqual(
    implemented
      .map(({ route }) => `${route.method} ${route.path}`)
      .filter((it) => !answered.has(it)),
    // Its own session nobody ends here: test/account/session-list.suite.ts ends another.
    ['DELETE /api/v1/sessions/{id}'],
    'rows with an answer that this test does not ask',
  )
})

test('an error of any kind is one of the document’s', async () => {
  const ErrorBody = v.looseObject({
    error: v.picklist(CODES),
    message: v.pipe(v.string(), v.minLength(1)),
  })
  for (const [method, path] of [
    ['GET', '/api/v1/status'],
    ['GET', '/nope'],
    ['PUT', '/health'],
    ['POST', '/api/v1/token'],
    ['GET', '//'],
  ] as const) {
    const { status, json } = await daemon.request(method, path)
    const body = v.parse(ErrorBody, json)
    assert.equal(status, statusOf(body.error))
  }
})
