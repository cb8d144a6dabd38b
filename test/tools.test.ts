/**
 * The catalogue of tools: valid by two validators, the same as the committed golden, one operation for every row that is a tool, and
 * what each takes. After an intended change, `UPDATE_GOLDEN=1 node --test test/tools.test.ts` writes the golden anew.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import * as v from 'valibot'
import { rest } from '../src/api/rest/index.ts'
import type { Table } from '../src/api/route.ts'
import { REST, scopeTable } from '../src/auth/scopes.ts'
import { toolCatalogue } from '../src/tools/catalogue.ts'
import { toolsOf } from '../src/tools/tool.ts'
import { startDaemon } from './daemon.ts'
import { newMachine } from './handlers/people.ts'
import { schemasOf, under } from './json-schemas.ts'
import { assertLints } from './redocly.ts'

type Json = Readonly<Record<string, unknown>>
interface Operation {
  readonly operationId: string
  readonly description: string
  readonly summary: string
  readonly requestBody: {
    readonly required: boolean
    readonly content: { readonly 'application/json': { readonly schema: Json } }
  }
  readonly responses: Json
}

const GOLDEN = join(import.meta.dirname, 'golden/tools.json')
const need = scopeTable(REST)
const made = toolCatalogue({ table: rest, version: '0.0.0', need })
const document = JSON.parse(JSON.stringify(made)) as Json & {
  info: Json
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json> }
}
const operations = Object.entries(document.paths)
const operationOf = (tool: string): Operation =>
  document.paths[`/api/v1/tools/${tool}`]?.['post'] ?? assert.fail(`there is no tool ${tool}`)

describe('the catalogue of tools', () => {
  it('is what was committed', () => {
    const text = `${JSON.stringify(document, null, 2)}\n`
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(GOLDEN, text)
    assert.deepEqual(document, JSON.parse(readFileSync(GOLDEN, 'utf8')))
  })

  it('the schema of OpenAPI 3.1 takes it, and would notice a fault', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    assert(valid, JSON.stringify(errors, null, 1))
    assert.match(document['openapi'] as string, /^3\.1\./)
    const broken = structuredClone(document) as unknown as { paths: Record<string, Json> }
    broken.paths['/api/v1/tools/tags_list'] = { post: { responses: 'none' } }
    assert.equal((await new Validator().validate(broken)).valid, false)
  })

  it('redocly finds no error in it', () => assertLints(GOLDEN))

  it('every reference leads to a component, and every component is referred to', () => {
    const refs = new Set(under('$ref', document))
    const names = Object.keys(document.components.schemas).map((it) => `#/components/schemas/${it}`)
    assert.deepEqual(refs, new Set(names))
  })

  it('has every route of the interface but documents, health, the first token and the end of the account', () => {
    const { routes } = JSON.parse(
      readFileSync(join(import.meta.dirname, 'golden/scopes.json'), 'utf8'),
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

  it('each is one operation, named as its path', () => {
    for (const [path, methods] of operations) {
      assert.deepEqual(Object.keys(methods), ['post'])
      assert.equal(path, `/api/v1/tools/${methods['post']?.operationId}`)
    }
    assert.deepEqual(document.servers, [{ url: 'http://127.0.0.1:19821' }])
  })

  it('custom GPTs take it: ids of 64, texts of 300, descriptions of what is given of 700 characters', () => {
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
    ['tags_list', 'GET /api/v1/tags', 'any scope'],
    ['connections_code', 'GET /api/v1/connections/{id}/code', 'any scope'],
    ['verify_words', 'POST /api/v1/verify', '`write` or `full`'],
    ['trust_cards_update', 'PATCH /api/v1/trust-cards/{id}', '`write` or `full`'],
    ['open_link_requests_approve', 'POST /api/v1/open-links/requests/{id}/approve', '`write` or'],
    ['context_active_org', 'POST /api/v1/context/active-org', '`write` or `full`'],
    ['org_members_list', 'GET /api/v1/org/members', 'scope `full`'],
    ['org_members_bulk_invite', 'POST /api/v1/org/members/bulk-invite', 'scope `full`'],
    ['org_groups_remove_members', 'DELETE /api/v1/org/groups/{id}/members', 'scope `full`'],
    ['org_analytics_trends', 'GET /api/v1/org/analytics/trends', 'scope `full`'],
    ['api_tokens_create', 'POST /api/v1/api-tokens', 'scope `full`'],
  ]
  for (const [tool, route, scope] of names)
    it(`${tool} is ${route}, and says that it needs ${scope}`, () => {
      const found = toolsOf(rest).find(({ name }) => name === tool)?.route
      assert.equal(`${found?.method} ${found?.path}`, route)
      const { description, responses } = operationOf(tool)
      assert(description.includes(scope), description)
      assert.equal('403' in responses, scope !== 'any scope')
      assert(String(found?.status ?? 200) in responses)
    })
})

describe('what a tool takes', () => {
  const faults = schemasOf(document)
  const ID = 'con_01k9zq3v5w8x2y4z6a8b0c2d4e'
  const cases: [tool: string, input: Json, good: boolean][] = [
    ['status_read', {}, true],
    ['status_read', { limit: 1 }, false],
    ['connections_list', { limit: 200, cursor: 'x' }, true],
    ['connections_list', { limit: 201 }, false],
    ['connections_list', { limit: '5' }, false],
    ['connections_read', { id: ID }, true],
    ['connections_read', {}, false],
    ['connections_update', { id: ID, name: 'Bank' }, true],
    ['connections_update', { name: 'Bank' }, false],
    ['connections_update', { id: ID, nam: 'Bank' }, false],
    ['connections_favorite', { id: ID }, true],
    ['connections_favorite', { id: ID, favorite: 'yes' }, false],
    ['tags_assign', { id: ID, cid: ID }, true],
    ['tags_assign', { id: ID }, false],
    ['members_add', { id: ID, email: 'ada@example.org' }, true],
    ['members_add', { id: ID, user_id: 'acc_1' }, true],
    ['members_add', { id: ID, user_id: 'acc_1', email: 'ada@example.org' }, false],
    ['members_add', { id: ID }, false],
    ['members_add', { email: 'ada@example.org' }, false],
    ['trust_cards_create', { email: 'ada@example.org', note: null }, true],
    ['trust_cards_create', { note: 'nobody' }, false],
    ['notifications_delete', { id: ['ntf_1'] }, true],
    ['guest_codes_qr', { id: ID, format: 'gif' }, true],
    ['guest_codes_qr', { id: ID, format: 'png' }, false],
    ['api_tokens_create', { name: 'n', scope: 'read' }, true],
    ['api_tokens_create', { name: 'n' }, false],
    ['org_members_bulk_invite', { invites: [{ email: 'ada@example.org' }] }, true],
    ['org_members_bulk_invite', { invites: [] }, false],
    ['org_analytics_trends', { metric: 'stamp', bucket: 'week' }, true],
    ['org_analytics_trends', { bucket: 'week' }, false],
  ]
  for (const [tool, input, good] of cases)
    it(`${tool} ${good ? 'takes' : 'refuses'} ${JSON.stringify(input)}`, () => {
      const { schema } = operationOf(tool).requestBody.content['application/json']
      const found = faults(schema, input)
      assert.equal(found.length === 0, good, found.join('\n'))
    })

  for (const [tool, required] of [
    ['status_read', false],
    ['connections_list', false],
    ['connections_read', true],
    ['stamp_create', true],
    ['members_add', true],
    ['notifications_read', false],
  ] as const)
    it(`${tool} ${required ? 'needs something' : 'may be called with nothing'}`, () => {
      assert.equal(operationOf(tool).requestBody.required, required)
    })

  it('no name stands for two things', () => {
    const twice = {
      things: {
        update: {
          method: 'PATCH',
          path: '/things/{id}',
          summary: 'Update',
          by: 'daemon',
          body: v.strictObject({ id: v.string() }),
        },
      },
    } as const satisfies Table
    assert.throws(
      () => toolCatalogue({ table: twice, version: '0', need: () => 'read' }),
      /things_update takes id twice/,
    )
  })
})

describe('GET /openapi.json', () => {
  it('is the catalogue for whoever has a token, of this daemon or of a machine account', async (t) => {
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const machine = await newMachine(daemon)
    const get = (token?: string) => daemon.request('GET', '/openapi.json', { token })
    for (const token of [await daemon.token('read'), await machine.token('read')]) {
      const { status, json, headers } = await get(token)
      assert.deepEqual([status, headers['content-type']], [200, 'application/json'])
      const { info, ...served } = json as { info: Json }
      const { info: ours, ...rest } = document
      assert.deepEqual(served, rest)
      assert.deepEqual({ ...info, version: '0.0.0' }, ours)
    }
    assert.equal((await get()).status, 401)
  })
})
