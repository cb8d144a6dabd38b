/**
 * The targets of hostile pages: a path of either listener for each thing of value, with ids that
 * exist.
 */
import assert from 'node:assert/strict'
import type { TestDaemon } from '../daemon.ts'
import type { Listener } from '../http/guarding.ts'

export interface Target {
  readonly at: Listener
  readonly method: string
  readonly path: string
  /** JSON; forms are made of its members. */
  readonly body: string
  /**
   * Whether any caller may send it and read the answer, pages of the daemon’s own origin
   * included.
   */
  readonly isPublic: boolean
}

/** The secrets that no page may learn, and the targets. */
export interface Belongings {
  readonly secrets: readonly string[]
  readonly reads: readonly Target[]
  readonly writes: readonly Target[]
}

const get = (at: Listener, path: string, isPublic = false): Target => ({
  at,
  method: 'GET',
  path,
  body: '{}',
  isPublic,
})

const send = (
  at: Listener,
  path: string,
  body: object = {},
  { method = 'POST', isPublic = false } = {},
): Target => ({ at, method, path, body: JSON.stringify(body), isPublic })

const ANYBODY = { isPublic: true }
const TOKEN = 'A'.repeat(43)

/**
 * Creates data to steal in an account. Returns a token of full scope, as if it had been stolen.
 */
export async function populate(daemon: TestDaemon): Promise<Belongings & { token: string }> {
  const token = await daemon.token('full')
  const made = async (path: string, body: object): Promise<Record<string, string>> => {
    const { status, json } = await daemon.request('POST', path, { token, body })
    assert.equal(status, 201, path)
    return json as Record<string, string>
  }
  const tag = await made('/api/v1/tags', { name: 'Canary of the tags', color: '#2453b8' })
  const guest = await made('/api/v1/guest-codes', { label: 'Canary of the guests' })
  const link = await made('/api/v1/open-links', { slug: 'the-desk', title: 'The desk' })
  const stamp = await made('/api/v1/stamp', { content: 'Canary of the stamps' })
  const { text: page } = await daemon.request('GET', '/api/v1/docs')
  const script = /src="(\/api\/v1\/docs\/start[^"]+)"/.exec(page)?.[1]
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'tags_create', arguments: { name: 'x', color: '#000000' } },
  }
  const api = 'address'
  const account = 'accountAddress'
  return {
    token,
    secrets: ['Canary', token, tag['id'], guest['secret'] ?? guest['url']?.split('#')[1]].filter(
      (it) => it !== undefined,
    ),
    reads: [
      get(api, '/api/v1/token'),
      get(api, '/health', true),
      get(api, '/api/v1/tags'),
      get(api, '/api/v1/docs', true),
      get(api, '/mcp'),
      get(api, '/api/v1/api-tokens'),
      get(api, '/local/v1/sign-in'),
      get(api, '/api/v1/health', true),
      get(api, `/api/v1/guest-codes/${guest['id']}/qr`),
      get(api, '/api/v1/openapi.json', true),
      get(api, '/tools'),
      ...(script === undefined ? [] : [get(api, script, true)]),
      get(api, '/nothing/here'),
      get(account, '/health', true),
      get(account, `/g/${guest['id']}`, true),
      get(account, `/s/${stamp['id']}`, true),
      get(account, `/s/${stamp['id']}/file`, true),
      get(account, `/o/${link['slug']}`, true),
      get(account, `/confirm/${TOKEN}`, true),
      get(account, `/exports/exp_1?expires=1&signature=${TOKEN}`, true),
      get(account, '/assets/style.css', true),
      get(account, '/device/v1/clock', true),
      get(account, '/api/v1/tags'),
    ],
    writes: [
      send(api, '/api/v1/token', { name: 'evil', scope: 'full' }),
      send(api, '/api/v1/tags', { name: 'evil', color: '#000000' }),
      send(api, `/api/v1/tags/${tag['id']}`, {}, { method: 'DELETE' }),
      send(api, `/api/v1/tags/${tag['id']}`, { name: 'evil' }, { method: 'PATCH' }),
      send(api, '/mcp', call),
      send(api, '/api/v1/tools/tags_create', { name: 'evil', color: '#000000' }),
      send(api, '/api/v1/verify', { words: 'matador carload recede' }),
      send(api, '/api/v1/api-tokens', { name: 'evil', scope: 'full' }),
      send(api, '/local/v1/sign-out', { last_device: true, forget: true }),
      send(api, '/api/v1/account', {}, { method: 'DELETE' }),
      send(
        account,
        `/o/${link['slug']}`,
        { display_name: 'Eve', email: 'eve@evil.example', message: 'x' },
        ANYBODY,
      ),
      send(account, `/confirm/${TOKEN}`, {}, ANYBODY),
      send(account, `/g/${guest['id']}/opened`, {}, ANYBODY),
      send(account, '/device/v1/sign-ins', { email: 'eve@evil.example' }, ANYBODY),
      send(account, '/oauth/token', { grant_type: 'client_credentials' }, ANYBODY),
      send(account, '/api/v1/tags', { name: 'evil', color: '#000000' }),
    ],
  }
}
