/**
 * The REST document: valid by two validators, the same as the committed golden, and built only
 * from the table, its texts and its examples. test/e2e/every-route.test.ts, which records the
 * examples, checks that a live daemon answers as documented; the golden is a short text of the
 * operations and schemas.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import * as v from 'valibot'
import { rest } from '../src/api/rest/index.ts'
import { type Route, everyPath } from '../src/api/route.ts'
import { REST_RULES, scopeTable } from '../src/auth/scopes.ts'
import { rowsOf } from '../src/api/rows.ts'
import { CODES, type ErrorCode, statusOf } from '../src/errors.ts'
import { openapiDocument } from '../src/api/openapi/document.ts'
import recorded from '../src/api/openapi/examples.json' with { type: 'json' }
import type { Examples } from '../src/api/openapi/examples.ts'
import { type TestDaemon, startDaemon } from './daemon.ts'
import { FOLDER, THEN, normalised } from './e2e/examples.ts'
import { assertGolden } from './golden.ts'
import { type Interface, interfaceText } from './interface-text.ts'
import { schemasOf, under } from './json-schemas.ts'
import { assertLints } from './redocly.ts'

type Json = Record<string, unknown>
type Content = Readonly<Record<string, Json & { schema: Json; examples?: Record<string, Json> }>>
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly security?: unknown[]
  readonly parameters?: {
    name: string
    in: string
    required: boolean
    $ref?: string
    schema?: Json
  }[]
  readonly requestBody?: { required: boolean; content: Content }
  readonly responses: Record<string, { content?: Content; $ref?: string }>
}
type Document = Json & {
  info: Json
  tags: { name: string; 'x-displayName': string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: Record<'schemas' | 'parameters' | 'examples', Record<string, Json>> & {
    responses: Record<string, { content: Content }>
  }
}

const GOLDEN = join(import.meta.dirname, 'golden/routes.txt')
const need = scopeTable(REST_RULES)
const examples: Examples = recorded
const documentWith = (more: { examples?: Examples }) =>
  JSON.parse(
    JSON.stringify(openapiDocument({ table: rest, version: '0.0.0', need, ...more })),
  ) as Document
const document = documentWith({})
/** The document as the daemon serves it. */
const whole = documentWith({ examples })

test('the operations and schemas of the document equal the committed ones', () => {
  const traitsOf = ({ method, path }: { method: string; path: string }) => ({
    need: need(method, path.slice(1).split('/')),
  })
  assertGolden(GOLDEN, interfaceText(document as unknown as Interface, traitsOf))
})

test('the document is valid by the schema of OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(whole))
  assert(valid, JSON.stringify(errors, null, 1))
  assert.match(document['openapi'] as string, /^3\.1\./)
})

test('that validator detects an error', async () => {
  const broken = structuredClone(document)
  for (const parameter of broken.paths['/api/v1/connections/{id}']?.['get']?.parameters ?? [])
    parameter.in = 'pathway'
  assert.equal((await new Validator().validate(broken)).valid, false)
})

test('redocly reports no error and no warning', () => assertLints(whole))

const rows = rowsOf(rest).flatMap(
  ({ group, name, route }: { group: string; name: string; route: Route }) =>
    everyPath(route).map((path) => ({
      group,
      name,
      route,
      path,
    })),
)
const operationOf = (route: Route, path: string): Operation =>
  document.paths[path]?.[route.method.toLowerCase()] ??
  assert.fail(`${route.method} ${path} is not in it`)

/** Returns the error codes for which a response has examples. */
const codesOf = (response: { $ref?: string } | undefined): string[] => {
  const name = response?.$ref?.replace('#/components/responses/', '') ?? ''
  return Object.keys(whole.components.responses[name]?.content['application/json']?.examples ?? {})
}

test('every row is in the document, and nothing else', () => {
  const inDocument = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(
    inDocument.toSorted(),
    rows.map(({ route, path }) => `${route.method} ${path}`).toSorted(),
  )
})

test('each operation has an id of its own, its path’s parameters and its scope', () => {
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
    const codes = codesOf(responses['403'])
    assert.equal(
      codes.includes('insufficient_scope'),
      // A stream may contain events that need a wider scope than the route.
      needed === 'write' || needed === 'full' || operationId === 'events_follow',
      operationId,
    )
    assert.equal(requestBody !== undefined, route.body !== undefined)
    assert(String(route.status ?? 200) in responses)
  }
})

test('a query parameter with a default is optional, and shows it', () => {
  const { path } = rest.orgAnalytics.trends
  const { parameters = [] } = operationOf(rest.orgAnalytics.trends, path)
  assert.deepEqual(
    parameters.map(({ name, required, schema }) => [name, required, schema?.['default']]),
    [
      ['metric', false, 'activity'],
      ['from', false, undefined],
      ['to', false, undefined],
      ['bucket', false, 'day'],
    ],
  )
})

test('an optional body is not required', () => {
  assert.equal(
    operationOf(rest.connections.favorite, rest.connections.favorite.path).requestBody?.required,
    false,
  )
  assert.equal(operationOf(rest.stamp.create, rest.stamp.create.path).requestBody?.required, true)
})

test('every reference has a component, and every component is used', () => {
  const refs = new Set([...under('$ref', document)] as string[])
  const names = new Set(
    (['schemas', 'parameters', 'responses', 'examples'] as const).flatMap((kind) =>
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

test('every pattern is valid ECMA-262 with the flag u, as JSON Schema recommends', () => {
  const patterns = [...under('pattern', document)] as string[]
  assert(patterns.length > 3)
  for (const pattern of patterns) assert.doesNotThrow(() => new RegExp(pattern, 'u'), pattern)
  assert(patterns.some((pattern) => pattern.includes('\\p{')))
})

test('a pattern accepts the same as the server, without flags', () => {
  const all = [...under('requirement', rest)].filter((it) => it instanceof RegExp)
  assert(all.length > 3)
  for (const { source, flags } of all) assert(['', 'u'].includes(flags), `${source} ${flags}`)
  const mailbox = 'Ada.Lovelace@Mail.EXAMPLE.org'
  const { pattern } = [...under('email', document.paths['/api/v1/trust-cards'])][0] as Json
  assert.match(mailbox, new RegExp(pattern as string, 'u'))
  assert.doesNotMatch(`${mailbox}-`, new RegExp(pattern as string, 'u'))
})

test('the Idempotency-Key is documented at each POST that uses it', () => {
  const ref = '#/components/parameters/IdempotencyKey'
  const named = rows
    .filter(({ route, path }) =>
      operationOf(route, path).parameters?.some(({ $ref }) => $ref === ref),
    )
    .map(({ route, path }) => `${route.method} ${path}`)
  const repeating =
    /^\/api\/v1\/(token|api-tokens|guest-codes|devices\/\{id\}\/approval(\/attempt|\/step)?|invitations\/\{id\}\/words|verify|verify\/public|verify\/challenges|stamps\/check|sync|chat|webhooks|webhooks\/\{id\}\/test)$/
  const wanted = rows
    .filter(({ route, path }) => route.method === 'POST' && !repeating.test(path))
    .map(({ path }) => `POST ${path}`)
  assert.deepEqual(named, wanted)
  assert(named.includes('POST /api/v1/connections'))
})

/** The schema of the error, which each error example must match. */
const faults = schemasOf(whole)

test('every operation and every group has a description beyond its summary', () => {
  for (const { route, path } of rows) {
    const { operationId, summary, description } = operationOf(route, path)
    const more = description.slice(0, description.lastIndexOf(' Needs a') + 1 || undefined)
    assert(more.length > 30, `${operationId}: ${description}`)
    assert(!more.includes(summary), `${operationId} says its summary again`)
  }
  for (const { name, description } of whole.tags) assert(description.length > 10, name)
})

test('every operation has a recorded example that matches its schema', () => {
  for (const { route, path, group, name } of rows) {
    const {
      operationId,
      requestBody,
      responses,
      parameters = [],
    } = whole.paths[path]![route.method.toLowerCase()]!
    const {
      body,
      type,
      reply,
      params = {},
    } = examples[`${group}_${name}`] ??
    assert.fail(
      `${operationId} has no example: add a call to test/e2e/walk.ts, then run "npm run golden"`,
    )
    if (requestBody !== undefined && requestBody.required) assert.notEqual(body, undefined)
    if (body !== undefined) {
      const { schema, example } = requestBody!.content['application/json']!
      assert.deepEqual(example, body)
      assert.deepEqual(faults(schema, example), [], operationId)
    }
    for (const one of parameters as (Json & { in: string; name: string })[])
      if (one.in === 'path') assert.equal(one['example'], params[one.name], operationId)
    const { content } = responses[String(route.status ?? 200)]!
    assert.equal(content === undefined, type === undefined, operationId)
    if (content === undefined) continue
    const { schema, example } = content[type as string] ?? assert.fail(`${operationId}: ${type}`)
    assert.deepEqual(example, reply)
    assert.deepEqual(faults(schema, example), [], operationId)
  }
})

test('there is no example of an unknown operation', () => {
  const known = new Set(rows.map(({ group, name }) => `${group}_${name}`))
  assert.deepEqual(
    Object.keys(examples).filter((id) => !known.has(id)),
    [],
  )
})

test('no example contains data of the recording machine, or a secret', () => {
  assert.deepEqual(
    normalised(examples, { address: 'http://127.0.0.1:19821', stateDir: FOLDER, since: THEN }),
    examples,
  )
})

test('secrets shown once are removed from examples', () => {
  const key = 'AecY818PnvTKTEX1AOdqZIHOsZ9AwDz4pJg4LyqtvG4'
  const secrets: [name: string, value: string, left: string][] = [
    [
      'token',
      'csd_u9eacNq3RKgt6okGnUay7abIbdCLVs4PSLHt',
      'csd_exampleexampleexampleexampleexample0',
    ],
    [
      'url',
      `http://127.0.0.1:39327/g/gst_01m7zsjgfve6xsjjed84a3vre2#${key}`,
      'http://127.0.0.1:19822/g/gst_01kg9r5w000000000000000001#exampleexampleexampleexampleexampleKEY0001A',
    ],
    ['qr', '<svg viewBox="0 0 45 45"><path d="M2 2h1v1H2Z"/></svg>', '<svg…'],
    ['stamp', `eyJhbGciOiJFZDI1NTE5In0.${key}.${key}${key}`, ''],
  ]
  for (const [name, value, left] of secrets) {
    const cleaned = normalised(
      { a: { reply: { [name]: value } } },
      { address: '', stateDir: FOLDER, since: THEN },
    )
    const text = (cleaned['a']!.reply as Json)[name] as string
    assert(!text.includes(key) && !text.includes('u9ea') && !text.includes('h1v1'), text)
    if (left !== '') assert.equal(text, left)
  }
})

test('each error answer has an example of each code, with the status of that code', () => {
  for (const { route, path } of rows) {
    const { operationId, responses } = operationOf(route, path)
    for (const [status, response] of Object.entries(responses)) {
      if (status.startsWith('2')) continue
      const shown = codesOf(response)
      assert(shown.length > 0, `${operationId} ${status}`)
      for (const code of shown) {
        const own = String(statusOf(code as ErrorCode))
        assert.equal(status, own in responses ? own : 'default', `${operationId} ${code}`)
      }
    }
  }
  for (const [code, { value }] of Object.entries(whole.components.examples)) {
    assert.equal((value as Json)['error'], code)
    const remedy = `${code}: cause it in test/e2e/every-error.test.ts, then run "npm run golden"`
    assert.deepEqual(faults({ $ref: '#/components/schemas/Error' }, value), [], remedy)
  }
})

test('the document names the operations that a machine account cannot use without a device', () => {
  const { callers, routes } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'golden/scopes.json'), 'utf8'),
  ) as { callers: string[]; routes: Record<string, unknown[]> }
  const refused = Object.entries(routes)
    .filter(([, outcomes]) => outcomes[callers.indexOf('machine')] === 'no_device')
    .map(([route]) => route.split(' ') as [string, string])
  assert(refused.length > 3)
  for (const [method, path] of refused) {
    const { responses } = whole.paths[path]![method.toLowerCase()]!
    assert(codesOf(responses['409']).includes('no_device'), `${method} ${path}`)
  }
})

test('requests are closed, and replies are open', () => {
  const { schemas } = document.components
  assert.equal(schemas['NewToken']?.['additionalProperties'], false)
  for (const name of ['Status', 'Connection', 'Stamp', 'Verification'])
    assert.notEqual(schemas[name]?.['additionalProperties'], false, name)
  assert.deepEqual(schemas['NewToken']?.['required'], ['name', 'scope'])
})

test('the error schema contains every code', () => {
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

test('the daemon serves the document, always the same', async () => {
  const get = () => daemon.request('GET', '/api/v1/openapi.json')
  const { status, json, headers, text } = await get()
  assert.deepEqual([status, headers['content-type']], [200, 'application/json'])
  const { info, servers, ...served } = json as { info: Json; servers: Json[] }
  const { info: goldenInfo, servers: _, ...golden } = whole
  assert.deepEqual(servers, [{ url: daemon.address }])
  assert.deepEqual(served, golden)
  assert.deepEqual({ ...info, version: '0.0.0' }, goldenInfo)
  assert.equal((await get()).text, text)
})

test('the docs page lists every route', async () => {
  const { status, headers, text } = await daemon.request('GET', '/api/v1/docs')
  assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'])
  for (const { route } of rows) {
    const { method, path } = route
    assert(text.includes(`<code>${method} ${path}</code>`), path)
  }
  assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)/i)
})

test('errors of all kinds match the document', async () => {
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
