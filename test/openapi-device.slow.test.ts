/**
 * The document of the device interface of an account server: the file `docs/device-api.json`,
 * valid by two validators, with exactly the rows of the table, and as a live server answers.
 * Beside the file, a short text of it is committed for readers of a diff.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { entrance, signedIn } from '../src/api/device/index.ts'
import { rest } from '../src/api/rest/index.ts'
import { ACCOUNT_RULES, isGranted, scopeTable } from '../src/auth/scopes.ts'
import { rowsOf } from '../src/api/rows.ts'
import { accountRows, deviceDocument } from '../src/api/openapi/device.ts'
import {
  type Device,
  type TestServer,
  askProven,
  signIn,
  startAccountServer,
} from './account-server.ts'
import { assertGolden } from './golden.ts'
import { type Interface, interfaceText } from './interface-text.ts'
import { assertLints } from './redocly.ts'

type Json = Record<string, unknown>
interface Operation {
  readonly operationId: string
  readonly security?: Json[]
  readonly parameters?: ({ in: string; name: string } | { $ref: string })[]
  readonly requestBody?: { content: Record<string, { schema: Json }> }
  readonly responses: Record<string, { $ref?: string; content?: Json }>
}
type Document = Json & {
  paths: Record<string, Record<string, Operation>>
  components: Record<'schemas' | 'examples' | 'responses', Record<string, Json>>
}

const FILE = join(import.meta.dirname, '../docs/device-api.json')
const SUMMARY = join(import.meta.dirname, 'golden/device-routes.txt')
const need = scopeTable(ACCOUNT_RULES)
const document = JSON.parse(JSON.stringify(deviceDocument(need))) as Document

test('equals the committed file', () => {
  const traitsOf = ({ method, path }: { method: string; path: string }) => ({
    need: need(method, path.slice(1).split('/')),
  })
  assertGolden(SUMMARY, interfaceText(document as unknown as Interface, traitsOf))
  assertGolden(FILE, `${JSON.stringify(document, null, 2)}\n`)
})

test('is valid by the schema of OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  assert(valid, JSON.stringify(errors, null, 1))
  assert.match(document['openapi'] as string, /^3\.1\./)
})

test('redocly reports no error and no warning', () => assertLints(document))

const rows = [
  ...rowsOf({ ...entrance, ...signedIn }).filter(({ route }) =>
    route.path.startsWith('/device/v1/'),
  ),
  ...rowsOf(accountRows),
]
const TOKEN = signedIn.bearer.read.path
const operationOf = ({ method, path }: { method: string; path: string }): Operation =>
  document.paths[path]?.[method.toLowerCase()] ?? assert.fail(`${method} ${path} is not in it`)

/** The codes that an operation declares for a status. */
function codesOf({ responses }: Operation, status: number): string[] {
  const ref = (responses[String(status)] ?? responses['default'])?.$ref ?? ''
  const found = document.components.responses[ref.replace('#/components/responses/', '')] as {
    content: { 'application/json': { examples: Json } }
  }
  return Object.keys(found.content['application/json'].examples)
}

describe('each row', () => {
  test('is in the document, and nothing else is', () => {
    const inDocument = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(
      inDocument.toSorted(),
      rows.map(({ route }) => `${route.method} ${route.path}`).toSorted(),
    )
    assert.equal(new Set(rows.map(({ route }) => operationOf(route).operationId)).size, rows.length)
  })

  test('declares its input, its answers and the session it needs', () => {
    for (const { route } of rows) {
      const { security, parameters = [], requestBody, responses } = operationOf(route)
      const inPath = parameters.flatMap((it) => ('in' in it && it.in === 'path' ? [it.name] : []))
      assert.deepEqual(
        inPath.map((name) => `{${name}}`),
        route.path.match(/{\w+}/g) ?? [],
      )
      assert.equal(requestBody !== undefined, 'body' in route, route.path)
      const success = responses[String(route.status ?? 200)]
      assert.equal(success?.content !== undefined, 'reply' in route || 'media' in route, route.path)
      const wanted = need(route.method, route.path.slice(1).split('/'))
      const schemes = (security ?? [{ device: [] }]).flatMap((one) => Object.keys(one))
      assert.equal(
        schemes.includes('device'),
        wanted !== 'none' && route.path !== TOKEN,
        route.path,
      )
      assert.equal(schemes.includes('machine'), wanted !== 'none' && isGranted('full', wanted))
      const refs = parameters.flatMap((it) => ('$ref' in it ? [it.$ref] : []))
      assert.equal(
        refs.includes('#/components/parameters/DPoP'),
        (wanted !== 'none' && route.path !== TOKEN) || route.path === entrance.session.renew.path,
        route.path,
      )
    }
  })
})

describe('a live server', () => {
  const afters: (() => unknown)[] = []
  let server: TestServer
  let ada: Device
  before(async () => {
    server = await startAccountServer({ after: (fn) => void afters.push(fn as () => unknown) })
    ada = await signIn(server, 'ada@example.com')
  })
  after(async () => {
    for (const end of afters.toReversed()) await end()
  })

  /** One invalid request for every route: a body without members, ids of nothing. */
  const questions = rows
    // The other routes need the session that the first deletes and the account that the second
    // deletes.
    .filter(({ route: { method, path } }) => {
      const ends = [signedIn.currentSession.delete, rest.account.delete]
      return !ends.some((one) => one.method === method && one.path === path)
    })
    .map(({ route }) => ({
      route,
      path: route.path.replaceAll(/{\w+}/g, 'nothing'),
      body: 'body' in route ? { body: {} } : {},
    }))

  test('answers requests without a session as documented', async () => {
    for (const { route, path, body } of questions) {
      const { status, json } = await server.request(route.method, path, body)
      if (status < 300) continue
      const { error } = json as { error: string }
      const codes = codesOf(operationOf(route), status)
      assert(
        codes.includes(error),
        `${route.method} ${path}: ${status} ${error}, not ${codes.join()}`,
      )
    }
  })

  test('answers a device as documented', async () => {
    let refused = 0
    for (const { route, path, body } of questions) {
      // This answer does not end; `test/e2e/live.slow.test.ts` reads it.
      if (route.path === signedIn.hints.follow.path) continue
      const { status, json } = await askProven(server, route.method, path, ada.credentials, body)
      const operation = operationOf(route)
      if (status < 300) {
        assert.equal(status, route.status ?? 200)
        continue
      }
      refused += 1
      const { error } = json as { error: string }
      const codes = codesOf(operation, status)
      assert(
        codes.includes(error),
        `${route.method} ${path}: ${status} ${error}, not ${codes.join()}`,
      )
    }
    assert(refused > rows.length / 2)
  })
})
