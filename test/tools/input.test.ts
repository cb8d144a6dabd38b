/** The input of each tool: path, query and body of its row in one closed object. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { rest } from '../../src/api/rest/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import type { Route } from '../../src/api/route.ts'
import { converter } from '../../src/api/openapi/document.ts'
import { inputOf } from '../../src/api/tools/input.ts'
import { listedTools } from '../../src/api/tools/list.ts'
import { schemasOf } from '../json-schemas.ts'
import type { Json } from './calling.ts'

const tools = listedTools(rest, scopeTable(REST_RULES))

describe('the input schema of a tool', () => {
  const faults = schemasOf({ components: { schemas: {} } })
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
    ['members_add', { email: 'ada@example.org' }, false],
    ['trust_cards_create', { email: 'ada@example.org', note: null }, true],
    ['trust_cards_create', { user: 'acc_1' }, false],
    ['notifications_delete', { id: ['ntf_1'] }, true],
    ['guest_codes_qr', { id: ID, format: 'gif' }, true],
    ['guest_codes_qr', { id: ID, format: 'png' }, false],
    ['api_tokens_create', { name: 'n', scope: 'read' }, true],
    ['api_tokens_create', { name: 'n' }, false],
    ['org_members_bulk_invite', { invites: [{ email: 'ada@example.org' }] }, true],
    ['org_members_bulk_invite', { invites: [] }, false],
    ['org_analytics_trends', { metric: 'stamp', bucket: 'week' }, true],
    ['org_analytics_trends', { bucket: 'week' }, true],
    ['org_analytics_trends', { bucket: 'hour' }, false],
  ]
  for (const [tool, input, good] of cases)
    it(`${tool} ${good ? 'accepts' : 'rejects'} ${JSON.stringify(input)}`, () => {
      const schema = tools.find(({ name }) => name === tool)?.inputSchema
      const found = faults(schema ?? assert.fail(tool), input)
      assert.equal(found.length === 0, good, found.join('\n'))
    })

  it('a name has one meaning', () => {
    const route: Route = {
      method: 'PATCH',
      path: '/things/{id}',
      by: 'daemon',
      body: v.strictObject({ id: v.string() }),
    }
    const twice = { name: 'things_update', group: 'things', row: 'update', route }
    assert.throws(() => inputOf(twice, converter({})), /things_update takes id twice/)
  })
})
