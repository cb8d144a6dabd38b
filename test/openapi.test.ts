/**
 * The REST document: valid by two validators, the same as the committed golden, nothing in it but the table. That
 * a live daemon answers as it says is shown by test/e2e/every-route.test.ts. After an intended change, `UPDATE_GOLDEN=1 node --test test/openapi.test.ts` writes the golden anew.
 */
import assert from 'node:assert/strict'
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
import { type TestDaemon, startDaemon } from './daemon.ts'
import { under } from './json-schemas.ts'
import { assertLints } from './redocly.ts'

type Json = Record<string, unknown>
interface Operation {
  readonly operationId: string
  readonly security?: unknown[]
  readonly parameters?: { name: string; in: string; required: boolean; $ref?: string }[]
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

test('redocly finds no error in it', () => assertLints(GOLDEN))

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
    assert.equal(requestBody !== undefined, route.body !== undefined)
    assert(String(route.status ?? 200) in responses)
  }
})

test('a parameter of the query that must be given is required, and no other', () => {
  const { path } = rest.orgAnalytics.trends
  const { parameters = [] } = operationOf(rest.orgAnalytics.trends, path)
  assert.deepEqual(
    parameters.map(({ name, required }) => [name, required]),
    [
      ['metric', true],
      ['from', false],
      ['to', false],
      ['bucket', false],
    ],
  )
})

test('a body that may be left out is not required', () => {
  assert.equal(
    operationOf(rest.connections.favorite, rest.connections.favorite.path).requestBody?.required,
    false,
  )
  assert.equal(operationOf(rest.stamp.create, rest.stamp.create.path).requestBody?.required, true)
})

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
    .filter(({ route, path }) => route.method === 'POST' && !repeating.test(path))
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
