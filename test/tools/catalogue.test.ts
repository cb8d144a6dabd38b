/**
 * The catalogue of tools: valid by two validators, one operation for every row that is a tool,
 * and the same as the committed golden, a short text of the tools.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { rest } from '../../src/api/rest/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import examples from '../../src/api/openapi/examples.json' with { type: 'json' }
import { openapiDocument } from '../../src/api/openapi/document.ts'
import { toolCatalogue } from '../../src/api/tools/catalogue.ts'
import { listedTools } from '../../src/api/tools/list.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { startDaemon } from '../daemon.ts'
import { assertGolden } from '../golden.ts'
import { newMachine } from '../handlers/people.ts'
import { type Interface, interfaceText } from '../interface-text.ts'
import { schemasOf, under } from '../json-schemas.ts'
import { assertLints } from '../redocly.ts'

type Json = Readonly<Record<string, unknown>>
interface Operation {
  readonly operationId: string
  readonly description: string
  readonly summary: string
  readonly requestBody: {
    readonly required: boolean
    readonly content: {
      readonly 'application/json': { readonly schema: Json; readonly example?: unknown }
    }
  }
  readonly responses: Json
}

type Document = Json & {
  info: Json
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json>; responses: Json; examples: Json }
}

const GOLDEN = join(import.meta.dirname, '../golden/tools.txt')
const need = scopeTable(REST_RULES)
const made = { table: rest, version: '0.0.0', need, examples }
/** The catalogue as the daemon serves it. */
const document = JSON.parse(JSON.stringify(toolCatalogue(made))) as Document
const operations = Object.entries(document.paths)
const operationOf = (tool: string): Operation =>
  document.paths[`/api/v1/tools/${tool}`]?.['post'] ?? assert.fail(`there is no tool ${tool}`)

describe('the catalogue of tools', () => {
  it('equals the committed one in traits, arguments and answers of the tools', () => {
    const tools = new Map(toolsOf(rest).map((tool) => [tool.name, tool]))
    const listed = new Map(listedTools(rest, need).map((tool) => [tool.name, tool]))
    const traitsOf = ({ id }: { id: string }) => {
      const tool = tools.get(id) ?? assert.fail(id)
      const { method, path } = tool.route
      const hints = Object.entries(listed.get(id)!.annotations).flatMap(([hint, holds]) =>
        holds ? [hint.replace('Hint', '')] : [],
      )
      return { need: need(method, path.slice(1).split('/')), more: [`${method} ${path}`, ...hints] }
    }
    assertGolden(GOLDEN, interfaceText(document as unknown as Interface, traitsOf, {}))
  })

  it('has the schemas of the REST document', () => {
    const { schemas } = (JSON.parse(JSON.stringify(openapiDocument(made))) as Document).components
    for (const [name, schema] of Object.entries(document.components.schemas))
      assert.deepEqual(schema, schemas[name], name)
  })

  it('is valid by the schema of OpenAPI 3.1, and the validator detects an error', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    assert(valid, JSON.stringify(errors, null, 1))
    assert.match(document['openapi'] as string, /^3\.1\./)
    const broken = structuredClone(document) as unknown as { paths: Record<string, Json> }
    broken.paths['/api/v1/tools/tags_list'] = { post: { responses: 'none' } }
    assert.equal((await new Validator().validate(broken)).valid, false)
  })

  it('redocly reports no error', () => assertLints(document))

  it('every reference has a component, and every schema is used', () => {
    const refs = new Set(under('$ref', document))
    const named = (kind: 'schemas' | 'responses' | 'examples') =>
      Object.keys(document.components[kind]).map((it) => `#/components/${kind}/${it}`)
    const schemas = named('schemas')
    const components = [...schemas, ...named('responses'), ...named('examples')]
    assert.deepEqual(
      [...refs].filter((ref) => !components.includes(ref as string)),
      [],
    )
    assert.deepEqual(
      schemas.filter((ref) => !refs.has(ref)),
      [],
    )
  })

  it('has every route of the interface except documents, health, the first token and account deletion', () => {
    const { routes } = JSON.parse(
      readFileSync(join(import.meta.dirname, '../golden/scopes.json'), 'utf8'),
    ) as { routes: Record<string, unknown> }
    const tools = new Set(toolsOf(rest).map(({ route }) => `${route.method} ${route.path}`))
    assert.deepEqual(
      Object.keys(routes).filter((route) => !tools.has(route)),
      [
        'GET /health',
        'GET /api/v1/health',
        'POST /api/v1/token',
        'GET /api/v1/openapi.json',
        'GET /api/v1/docs',
        'GET /openapi.json',
        'DELETE /api/v1/account',
      ],
    )
    assert.equal(operations.length, tools.size)
  })

  it('each tool is one operation, named like its path', () => {
    for (const [path, methods] of operations) {
      assert.deepEqual(Object.keys(methods), ['post'])
      assert.equal(path, `/api/v1/tools/${methods['post']?.operationId}`)
    }
    const urls = document.servers.map(({ url }) => url)
    assert.deepEqual(urls, ['http://127.0.0.1:19821'])
    assert.deepEqual(
      urls.map((url) => new URL(url).origin),
      urls,
    )
  })

  it('fits the limits of custom GPTs: ids of 64, texts of 300, parameter descriptions of 700 characters', () => {
    for (const { operationId, description, summary, requestBody } of operations.map(
      ([, methods]) => methods['post'] as Operation,
    )) {
      assert.match(operationId, /^[a-z][a-z0-9_]{0,63}$/)
      for (const text of [description, summary])
        assert(text.length > 0 && text.length <= 300, operationId)
      const { schema } = requestBody.content['application/json']
      assert.equal(schema['type'], 'object', operationId)
      for (const text of under('description', schema))
        assert(typeof text !== 'string' || text.length <= 700, operationId)
    }
  })

  const names: [tool: string, route: string, scope: string][] = [
    ['tags_list', 'GET /api/v1/tags', ''],
    ['connections_code', 'GET /api/v1/connections/{id}/code', ''],
    ['verify_words', 'POST /api/v1/verify', 'scope `write`'],
    ['trust_cards_update', 'PATCH /api/v1/trust-cards/{id}', 'scope `write`'],
    [
      'open_link_requests_approve',
      'POST /api/v1/open-links/requests/{id}/approve',
      'scope `write`',
    ],
    ['context_active_org', 'POST /api/v1/context/active-org', 'scope `write`'],
    ['org_members_list', 'GET /api/v1/org/members', 'scope `full`'],
    ['org_members_bulk_invite', 'POST /api/v1/org/members/bulk-invite', 'scope `full`'],
    ['org_groups_remove_members', 'DELETE /api/v1/org/groups/{id}/members', 'scope `full`'],
    ['org_analytics_trends', 'GET /api/v1/org/analytics/trends', 'scope `full`'],
    ['api_tokens_create', 'POST /api/v1/api-tokens', 'scope `full`'],
  ]
  for (const [tool, route, scope] of names)
    it(`${tool} is ${route}, and its description names ${scope || 'no scope'}`, () => {
      const found = toolsOf(rest).find(({ name }) => name === tool)?.route
      assert.equal(`${found?.method} ${found?.path}`, route)
      const { description, responses } = operationOf(tool)
      assert(description.includes(scope), description)
      assert.equal(description.includes('Needs scope'), scope !== '')
      assert.equal('403' in responses, scope !== '')
    })
})

describe('the input of a tool', () => {
  for (const [tool, required] of [
    ['status_read', false],
    ['connections_list', false],
    ['connections_read', true],
    ['stamp_create', true],
    ['members_add', true],
    ['notifications_read', false],
  ] as const)
    it(`${tool} ${required ? 'needs arguments' : 'can be called without arguments'}`, () => {
      assert.equal(operationOf(tool).requestBody.required, required)
    })

  it('every example of a call matches its schema', () => {
    const faults = schemasOf(document)
    for (const { operationId, requestBody } of operations.map(
      ([, { post }]) => post as Operation,
    )) {
      const { schema, example } = requestBody.content['application/json']
      if (example !== undefined) assert.deepEqual(faults(schema, example), [], operationId)
    }
  })
})

describe('the answer of a tool', () => {
  const contentOf = (tool: string) => {
    const { responses } = operationOf(tool)
    assert.deepEqual(
      Object.keys(responses).filter((status) => status < '300'),
      ['200'],
      tool,
    )
    return (responses['200'] as { content: Record<string, { schema: Json }> }).content
  }
  const replies: [tool: string, types: string[], schema: Json | null][] = [
    ['tags_list', ['application/json'], null],
    ['tags_create', ['application/json'], { $ref: '#/components/schemas/Tag' }],
    ['exports_create', ['application/json'], null],
    ['tags_delete', ['application/json'], { type: 'object', additionalProperties: false }],
    [
      'guest_codes_qr',
      ['image/svg+xml', 'image/gif', 'text/plain; charset=utf-8'],
      { type: 'string' },
    ],
    ['chat_turn', ['text/event-stream', 'application/json'], null],
  ]
  for (const [tool, types, schema] of replies)
    it(`${tool}: 200 with ${types.join(' or ')}`, () => {
      const content = contentOf(tool)
      assert.deepEqual(Object.keys(content), types)
      if (schema !== null) assert.deepEqual(content[types[0] as string]?.schema, schema)
    })

  it('every successful answer of a tool is 200', () => {
    for (const { name } of toolsOf(rest)) contentOf(name)
  })
})

describe('GET /openapi.json', () => {
  it('returns the catalogue for a token of this daemon or of a machine account', async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const machine = await newMachine(daemon)
    const get = (token?: string) => daemon.request('GET', '/openapi.json', { token })
    for (const token of [await daemon.token('read'), await machine.token('read')]) {
      const { status, json, headers } = await get(token)
      assert.deepEqual([status, headers['content-type']], [200, 'application/json'])
      const { info, ...served } = json as { info: Json }
      const { info: ours, ...rest } = document
      assert.deepEqual(served, { ...rest, servers: [{ url: daemon.address }] })
      assert.deepEqual({ ...info, version: '0.0.0' }, ours)
    }
    assert.equal((await get()).status, 401)
  })

  it('both documents contain the address of the request', async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const token = await daemon.token('read')
    const { port } = new URL(daemon.address)
    for (const path of ['/openapi.json', '/api/v1/openapi.json'])
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
        const { json } = await daemon.request('GET', path, { token, headers: { Host: host } })
        assert.deepEqual((json as { servers: unknown }).servers, [{ url: `http://${host}` }], path)
      }
  })
})
