/**
 * The texts that a model reads of each tool: enough to choose one among all, within the limits of
 * the programs that run models.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import type { Texts } from '../../src/api/rest/texts/text.ts'
import { listedTools } from '../../src/api/tools/list.ts'
import { type ToolName, toolsOf } from '../../src/api/tools/tool.ts'
import { under } from '../json-schemas.ts'

type Json = Readonly<Record<string, unknown>>

const tools = listedTools(rest, scopeTable(REST_RULES))
const byName = new Map(tools.map((tool) => [tool.name, tool]))
/** Fields of answers that the texts name. */
const IN_ANSWERS = [
  'export_not_ready',
  'group_ids',
  'is_default',
  'key_status',
  'last_fired_at',
  'member_id',
  'next_cursor',
  'rotation_pending',
  'secret_here',
  'secret_unavailable',
  'sync_stale',
  'verification_url',
]

const toolNamed = (name: ToolName) => byName.get(name) ?? assert.fail(name)

describe('the texts of the tools', () => {
  it('a missing and a surplus text do not compile', () => {
    const [summary, title, description] = ['Sync', 'Sync now', 'Sync.']
    const read = { summary, description, tool: { title, description } }
    const run = { summary, description, tool: { title, description, traits: [] } }
    const right: Texts<'sync' | 'health'> = {
      sync: { read, run },
      health: { read: { summary, description }, ready: { summary, description } },
    }
    const wrong: Texts<'sync' | 'health'>[] = [
      // @ts-expect-error the group has two rows
      { ...right, sync: { run } },
      // @ts-expect-error there is no such row
      { ...right, sync: { read, run, list: read } },
      // @ts-expect-error the row is a tool
      { ...right, sync: { read: { summary, description }, run } },
      {
        ...right,
        // @ts-expect-error the row is no tool
        health: { ...right.health, read: { summary, description, tool: { title, description } } },
      },
      // @ts-expect-error the tool changes something
      { ...right, sync: { read, run: read } },
      // @ts-expect-error the tool only reads
      { ...right, sync: { run, read: { ...run, tool: { title, description, traits: [] } } } },
    ]
    assert.equal(wrong.length, 6)
  })

  it('titles are a few words, descriptions sentences of 300 characters at most, and none is used twice', () => {
    for (const { name, title, description } of tools) {
      assert.match(title, /^[A-Z].*[^.]$/, name)
      assert(title.length <= 60, name)
      assert.match(description, /^[A-Z].*[.]$/, name)
      assert(description.length <= 300, `${name}: ${description.length}`)
      const capitals = title
        .split(' ')
        .slice(1)
        .filter((word) => /^[A-Z][a-z]/.test(word))
      assert.deepEqual(capitals, [], title)
    }
    for (const part of ['title', 'description'] as const)
      assert.equal(new Set(tools.map((tool) => tool[part])).size, tools.length, part)
  })

  it('name only existing tools and fields', () => {
    const fields = new Set([
      ...tools.flatMap(({ inputSchema }) => Object.keys(inputSchema['properties'] as object)),
      ...IN_ANSWERS,
    ])
    for (const { name, description, inputSchema } of tools)
      for (const text of [description, ...under('description', inputSchema)]) {
        if (typeof text !== 'string') continue
        for (const [word] of text.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g))
          assert(byName.has(word) || fields.has(word), `${name} names ${word}`)
      }
  })

  it('every tool of an organisation names the step before it, and the permitted roles', () => {
    const ofOrganisation = tools.filter(({ name }) => name.startsWith('org_'))
    assert.equal(ofOrganisation.length, 19)
    for (const { name, description, annotations } of ofOrganisation) {
      assert.match(description, /context_active_org first/, name)
      assert.match(description, annotations.readOnlyHint ? /Any member may/ : /Owners and admins/)
    }
  })

  const expected: [tool: ToolName, said: RegExp][] = [
    ['connections_code', /to SAY.*Never what to expect/],
    ['verify_words', /Say "not verified" only if "conclusive" is true/],
    ['verify_words', /20 wrong tries a minute/],
    ['verify_public', /stranger.*verify_words/],
    ['stamp_create', /exactly one of content, content_base64 and sha256.*never taken back/],
    ['members_add', /exactly one of email and user_id/],
    ['trust_cards_create', /exactly one of user_id and email/],
    ['trust_cards_update', /compared the safety number.*cannot be undone/],
    ['notifications_delete', /ALL of them if it is left out/],
    ['connections_read', /connections_code/],
    ['org_members_list', /Members of a connection: connections_read/],
    ['connections_list', /Members of the organisation: org_members_list/],
    ['api_tokens_create', /once/],
    ['guest_codes_create', /shown only now/],
    ['exports_create', /an id, not a file/],
  ]
  for (const [tool, wanted] of expected)
    it(`the description of ${tool} matches ${wanted.source}`, () =>
      assert.match(toolNamed(tool).description, wanted))

  it('the tools that delete, revoke, decline, withdraw or suspend mention that this is final', () => {
    const ending = toolsOf(rest).filter(
      ({ name, route }) => route.method === 'DELETE' || /_(decline|withdraw|suspend)$/.test(name),
    )
    assert(ending.length > 20)
    for (const { name } of ending)
      assert.match(
        toolNamed(name as ToolName).description,
        /Cannot be undone|[Uu]ndo with|permanently|signs in again/,
        name,
      )
  })
})

describe('parameters of tools', () => {
  it('every parameter has a description of 700 characters at most, and an id names the tool that lists it', () => {
    let ids = 0
    for (const { name, inputSchema } of tools)
      for (const [key, { description }] of Object.entries(
        inputSchema['properties'] as Record<string, Json>,
      )) {
        const text = description
        assert(typeof text === 'string' && text.length > 3, `${name}, ${key}`)
        assert(text.length <= 700, `${name}, ${key}`)
        assert.doesNotMatch(text, /^An id:/, `${name}, ${key}`)
        if (!/^[cm]?ids?$|_ids?$/.test(key)) continue
        ids++
        const words = [...text.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)].map(([word]) => word)
        assert(
          words.some((word) => byName.has(word)),
          `${name}, ${key}: ${text}`,
        )
      }
    assert(ids > 50)
  })

  const ids: [tool: ToolName, parameter: string, from: string][] = [
    ['connections_read', 'id', 'con_…), from connections_list'],
    ['members_remove', 'mid', 'from connections_read'],
    ['tags_assign', 'id', 'tag_…), from tags_list'],
    ['tags_assign', 'cid', 'con_…), from connections_list'],
    ['org_groups_update', 'id', 'grp_…), from org_groups_list'],
    ['org_groups_add_members', 'member_ids', 'acc_…), from org_members_list'],
    ['trust_cards_update', 'id', 'acc_…), from trust_cards_list'],
    ['open_link_requests_approve', 'id', 'req_…), from open_link_requests_list'],
    ['context_active_org', 'organisation_id', 'org_…), from context_read'],
    ['connections_create', 'preset_id', 'pre_…), from presets_list'],
    ['notifications_delete', 'id', 'ntf_…), from notifications_list'],
    ['chat_rate', 'turn_id', 'trn_…), from that answer of chat_turn'],
  ]
  for (const [tool, parameter, from] of ids)
    it(`the description of ${parameter} of ${tool} names its source`, () => {
      const { properties } = toolNamed(tool).inputSchema as unknown as {
        properties: Record<string, { description: string }>
      }
      const text = properties[parameter]?.description ?? ''
      assert(text.includes(from), text)
    })

  it('alternative parameters name each other', () => {
    const { properties } = toolNamed('stamp_create').inputSchema as unknown as {
      properties: Record<string, { description: string }>
    }
    for (const name of ['content', 'content_base64', 'sha256'])
      assert.match(properties[name]?.description ?? '', /or else/)
  })

  it('fit the limits of model clients: no choice at the root, names of 64 characters with a prefix, no character classes by property', () => {
    for (const { name, inputSchema } of tools) {
      assert.deepEqual(
        ['oneOf', 'anyOf', 'allOf', '$ref'].filter((key) => key in inputSchema),
        [],
        name,
      )
      assert.match(`mcp__countersign__${name}`, /^[a-zA-Z0-9_-]{1,64}$/)
      for (const key of Object.keys(inputSchema['properties'] as object))
        assert.match(key, /^[a-zA-Z0-9_]{1,64}$/, name)
      for (const pattern of under('pattern', inputSchema))
        assert(!String(pattern).includes('\\p{'), name)
      assert.deepEqual([...under('$ref', inputSchema)], [], name)
    }
  })
})
