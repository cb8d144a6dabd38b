/** The hints of a tool for its callers, and that repeating an idempotent tool changes nothing. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import { listedTools } from '../../src/api/tools/list.ts'
import { type ToolName, toolsOf } from '../../src/api/tools/tool.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'

/**
 * d: deletes something, or cannot be undone. r: may be repeated. o: people outside the
 * account are notified of it or may see it.
 */
const WANTED = {
  sync_run: 'r',
  verify_words: '',
  verify_challenge: '',
  verify_public: 'o',
  stamp_create: 'o',
  trust_cards_create: 'r',
  trust_cards_update: 'dr',
  trust_cards_delete: 'dr',
  connections_create: 'o',
  connections_update: 'r',
  connections_delete: 'dro',
  connections_favorite: 'r',
  connections_rotate: 'o',
  members_add: 'o',
  members_remove: 'dro',
  members_role: 'dro',
  invitations_approve: 'ro',
  invitations_decline: 'dro',
  invitations_withdraw: 'dro',
  guest_codes_create: '',
  guest_codes_delete: 'dr',
  guest_codes_send: 'o',
  external_members_create: '',
  external_members_delete: 'dr',
  tags_create: 'r',
  tags_update: 'r',
  tags_delete: 'dr',
  tags_assign: 'r',
  tags_unassign: 'dr',
  presets_create: '',
  presets_update: 'r',
  presets_delete: 'dr',
  presets_set_default: 'r',
  presets_clear_default: 'dr',
  open_links_create: 'o',
  open_links_delete: 'dro',
  open_links_pause: 'ro',
  open_links_resume: 'ro',
  open_links_slug: 'dro',
  open_link_requests_approve: 'ro',
  open_link_requests_decline: 'dr',
  context_active_org: 'r',
  profile_update: 'dro',
  preferences_update: 'dro',
  notifications_delete: 'dr',
  notifications_read: 'r',
  devices_delete: 'dr',
  sessions_delete: 'dr',
  emails_create: 'o',
  exports_create: '',
  exports_clear: 'dr',
  organisations_create: '',
  org_members_activate: 'ro',
  org_members_suspend: 'dro',
  org_members_bulk_invite: 'ro',
  org_groups_create: 'r',
  org_groups_update: 'r',
  org_groups_delete: 'dr',
  org_groups_add_members: 'r',
  org_groups_remove_members: 'dr',
  org_alerts_create: 'o',
  org_alerts_update: 'ro',
  org_alerts_delete: 'dr',
  api_tokens_create: '',
  api_tokens_delete: 'dr',
  chat_turn: 'o',
  chat_rate: 'ro',
  feedback_send: 'o',
} as const satisfies Readonly<Partial<Record<ToolName, string>>>

const hints = new Map(
  listedTools(rest, scopeTable(REST_RULES)).map(({ name, annotations }) => [name, annotations]),
)
const hintsOf = (name: string) => hints.get(name) ?? assert.fail(name)

describe('hints', () => {
  for (const [name, wanted] of Object.entries(WANTED))
    it(`${name}: ${wanted || 'none'}`, () => {
      assert.deepEqual(hintsOf(name), {
        readOnlyHint: false,
        destructiveHint: wanted.includes('d'),
        idempotentHint: wanted.includes('r'),
        openWorldHint: wanted.includes('o'),
      })
    })

  it('reading tools are read-only and idempotent, and reach no other person', () => {
    const reading = toolsOf(rest).filter(({ route }) => route.method === 'GET')
    const others = [...hints.keys()].filter((name) => !reading.some((tool) => tool.name === name))
    assert.deepEqual(others.toSorted(), Object.keys(WANTED).toSorted())
    for (const { name } of reading)
      assert.deepEqual(
        hintsOf(name),
        {
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false,
        },
        name,
      )
  })

  it('deleting tools are destructive and idempotent', () => {
    for (const { name, route } of toolsOf(rest))
      if (route.method === 'DELETE') {
        const { destructiveHint, idempotentHint } = hintsOf(name)
        assert.deepEqual([destructiveHint, idempotentHint], [true, true], name)
      }
  })
})

describe('a second, equal call', () => {
  let daemon: TestDaemon
  let token: string
  before(async () => {
    daemon = await startDaemon()
    token = await daemon.token('full')
  })
  after(() => daemon.close())

  const call = async (tool: ToolName, body: object = {}) => {
    const { status, json, text } = await daemon.request('POST', `/api/v1/tools/${tool}`, {
      token,
      body,
    })
    return { status, json: json as Record<string, unknown>, text }
  }
  const made = async (tool: ToolName, body: object = {}) => {
    const { status, json, text } = await call(tool, body)
    assert.equal(status, 200, text)
    return json['id'] as string
  }

  /** The tool to call twice, its input, and the tool that shows the result. */
  const cases: [tool: keyof typeof WANTED, arrange: () => Promise<object>, shows: ToolName][] = [
    ['tags_create', async () => ({ name: 'Suppliers' }), 'tags_list'],
    [
      'tags_update',
      async () => ({ id: await made('tags_create', { name: 'A' }), name: 'B' }),
      'tags_list',
    ],
    ['tags_delete', async () => ({ id: await made('tags_create', { name: 'C' }) }), 'tags_list'],
    [
      'tags_assign',
      async () => ({
        id: await made('tags_create', { name: 'D' }),
        cid: await made('connections_create', { name: 'Bank' }),
      }),
      'tags_list',
    ],
    ['presets_create', async () => ({ name: 'Trade' }), 'presets_list'],
    [
      'presets_set_default',
      async () => ({ id: await made('presets_create', { name: 'E' }) }),
      'presets_list',
    ],
    ['presets_clear_default', async () => ({}), 'presets_list'],
    ['external_members_create', async () => ({ display_name: 'Ann' }), 'external_members_list'],
    ['guest_codes_create', async () => ({ label: 'Ann' }), 'guest_codes_list'],
    [
      'guest_codes_delete',
      async () => ({ id: await made('guest_codes_create', { label: 'Bo' }) }),
      'guest_codes_list',
    ],
    ['open_links_create', async () => ({ title: 'Ask me' }), 'open_links_list'],
    ['open_links_pause', async () => ({ id: await made('open_links_create') }), 'open_links_list'],
    [
      'open_links_slug',
      async () => ({ id: await made('open_links_create'), slug: 'ask-me-now' }),
      'open_links_list',
    ],
    ['connections_create', async () => ({ name: 'Bank' }), 'connections_list'],
    [
      'connections_favorite',
      async () => ({ id: await made('connections_create', { name: 'F' }) }),
      'connections_list',
    ],
    [
      'connections_delete',
      async () => ({ id: await made('connections_create', { name: 'G' }) }),
      'connections_list',
    ],
    ['profile_update', async () => ({ headline: 'Here' }), 'profile_read'],
    ['preferences_update', async () => ({ locale: 'de' }), 'preferences_read'],
    ['api_tokens_create', async () => ({ name: 'n', scope: 'read' }), 'api_tokens_list'],
    [
      'api_tokens_delete',
      async () => ({ id: await made('api_tokens_create', { name: 'n', scope: 'read' }) }),
      'api_tokens_list',
    ],
  ]
  for (const [tool, arrange, shows] of cases)
    it(`of ${tool} ${hintsOf(tool).idempotentHint ? 'changes nothing' : 'changes something'}`, async () => {
      const input = await arrange()
      const seen = async () => {
        const { json } = await call(shows)
        // Current words and times of last use change without a call.
        return JSON.stringify(json, (key, value: unknown) =>
          ['code', 'last_used_at'].includes(key) ? undefined : value,
        )
      }
      assert.equal((await call(tool, input)).status, 200)
      const first = await seen()
      const again = await call(tool, input)
      assert(again.status < 500, again.text)
      assert.equal((await seen()) === first, hintsOf(tool).idempotentHint, again.text)
    })
})
