/**
 * Tests the access rules: every route of the specification with every kind of caller.
 * The golden file was made from the text of the specification, so it is independent of the code
 * under test.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, before, test } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import {
  ACCOUNT_RULES,
  REST_RULES,
  type Scope,
  requireScope,
  scopeTable,
} from '../../src/auth/scopes.ts'
import { everyPath } from '../../src/api/route.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { AppError } from '../../src/errors.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { newMachine } from '../handlers/people.ts'

/**
 * `no_device`: the scope allows the request, and the answer is that the route needs a device.
 * `forbidden`: the scope allows the request, and only the command line or a console may send it.
 */
type Outcome = 'public' | 'through' | 'no_device' | 'forbidden' | 401 | 403
/** `machine`: the token of a machine account, of full scope. */
type Caller = 'none' | 'junk' | 'machine' | Scope

const golden = JSON.parse(
  readFileSync(join(import.meta.dirname, '../golden/scopes.json'), 'utf8'),
) as {
  callers: Caller[]
  routes: Record<string, Outcome[]>
  beyond: { routes: Record<string, Outcome[]> }
}

const expectedOf = { ...golden.routes, ...golden.beyond.routes }
const cases = Object.entries(expectedOf).map(([route, outcomes]) => {
  const [method = '', path = ''] = route.split(' ')
  const expected = golden.callers.map((caller, i) => ({ caller, outcome: outcomes[i] as Outcome }))
  return { route, method, path, expected }
})

const SCOPES: readonly Caller[] = ['read', 'write', 'full']
const isScope = (caller: Caller): caller is Scope => SCOPES.includes(caller)
const REQUIRED = { read: 'read, write or full', write: 'write or full', full: 'full' } as const
const needOf = scopeTable(REST_RULES)

test('the table has exactly the routes of the specification and the declared additions', () => {
  const rows = rowsOf(rest).flatMap(({ route }) =>
    everyPath(route).map((path) => `${route.method} ${path}`),
  )
  const remedy = 'write the line of a new route under "beyond" in test/golden/scopes.json'
  assert.deepEqual(
    rows.filter((row) => !Object.hasOwn(expectedOf, row)),
    [],
    remedy,
  )
  assert.deepEqual(
    Object.keys(expectedOf).filter((row) => !rows.includes(row)),
    [],
    'these routes of test/golden/scopes.json have no row',
  )
})

for (const { route, method, path, expected } of cases)
  test(`the scope table on ${route}`, () => {
    const segments = path.slice(1).split('/')
    const need = needOf(method, segments)
    // This table does not cover what a machine account is refused beyond its scope.
    const forTokens = expected.filter(({ caller }) => caller !== 'machine')
    const outcomes = forTokens.map(({ caller }): Outcome => {
      if (need === 'none') return 'public'
      if (!isScope(caller)) return 401
      try {
        requireScope(caller, need as Scope, method, segments)
        return 'through'
      } catch (error) {
        assert(error instanceof AppError && error.code === 'insufficient_scope')
        return 403
      }
    })
    assert.deepEqual(
      outcomes,
      forTokens.map(({ outcome }) => (outcome === 'forbidden' ? 'through' : outcome)),
    )
  })

const needs: [rules: typeof REST_RULES, method: string, path: string, need: string][] = [
  [REST_RULES, 'GET', '/', 'none'],
  [REST_RULES, 'POST', '/', 'none'],
  [REST_RULES, 'PUT', '/api/v1/tags', 'write'],
  [REST_RULES, 'HEAD', '/api/v1/tags', 'read'],
  [REST_RULES, 'OPTIONS', '/api/v1/tags', 'read'],
  [REST_RULES, 'TRACE', '/api/v1/tags', 'read'],
  [REST_RULES, 'BREW', '/api/v1/tags', 'write'],
  [REST_RULES, 'GET', '/api/v1/org', 'full'],
  [REST_RULES, 'POST', '/api/v1/org', 'full'],
  [REST_RULES, 'HEAD', '/api/v1/org/members', 'full'],
  [REST_RULES, 'GET', '/api/v1/org/not/there/yet', 'full'],
  [REST_RULES, 'GET', '/api/v1/organisations', 'read'],
  [REST_RULES, 'GET', '/api/v1/orgs/members', 'read'],
  [REST_RULES, 'PATCH', '/api/v1/api-tokens/x/y', 'full'],
  [REST_RULES, 'POST', '/api/v1/token/x', 'write'],
  [REST_RULES, 'GET', '/api/v1/tokens', 'read'],
  [REST_RULES, 'DELETE', '/health', 'none'],
  [REST_RULES, 'GET', '/health/x', 'read'],
  [REST_RULES, 'GET', '/api/v1/docs/style.css', 'none'],
  [REST_RULES, 'GET', '/openapi.json', 'read'],
  [REST_RULES, 'GET', '/api/v2/org/members', 'read'],
  [REST_RULES, 'POST', '/console/v1/codes', 'none'],
  [REST_RULES, 'POST', '/console/v1/session', 'none'],
  [REST_RULES, 'DELETE', '/console/v1/session', 'read'],
  [REST_RULES, 'GET', '/console/v1/session', 'read'],
  [REST_RULES, 'POST', '/console/v1/codes/x', 'read'],
  [REST_RULES, 'GET', '/console/app.js', 'none'],
  [REST_RULES, 'GET', '/consoles', 'read'],
  [REST_RULES, 'POST', '/local/v1/sign-in', 'owner'],
  [REST_RULES, 'GET', '/local', 'owner'],
  [REST_RULES, 'GET', '/locals', 'read'],
  [ACCOUNT_RULES, 'GET', '/health', 'none'],
  [ACCOUNT_RULES, 'GET', '/health/ready', 'none'],
  [ACCOUNT_RULES, 'GET', '/g/x', 'none'],
  [ACCOUNT_RULES, 'POST', '/device/v1/enrolments', 'none'],
  [ACCOUNT_RULES, 'POST', '/device/v1/enrolments/further', 'none'],
  [ACCOUNT_RULES, 'POST', '/device/v1/sign-ins', 'none'],
  [ACCOUNT_RULES, 'POST', '/device/v1/sign-ins/account', 'none'],
  [ACCOUNT_RULES, 'POST', '/oauth/token', 'none'],
  [ACCOUNT_RULES, 'GET', '/oauth/tokens', 'read'],
  [ACCOUNT_RULES, 'GET', '/.well-known/oauth-authorization-server', 'none'],
  [ACCOUNT_RULES, 'POST', '/device/v1/session', 'none'],
  [ACCOUNT_RULES, 'DELETE', '/device/v1/session/current', 'device'],
  [ACCOUNT_RULES, 'POST', '/device/v1/session/other', 'session'],
  [ACCOUNT_RULES, 'POST', '/device/v1/approval', 'device'],
  [ACCOUNT_RULES, 'GET', '/device/v1/approval', 'device'],
  [ACCOUNT_RULES, 'POST', '/device/v1/approval/reveal', 'device'],
  [REST_RULES, 'GET', '/api/v1/devices/x/approval', 'full'],
  [REST_RULES, 'POST', '/api/v1/devices/x/approval/step', 'full'],
  [REST_RULES, 'DELETE', '/api/v1/devices/x', 'write'],
  [REST_RULES, 'GET', '/api/v1/devices/x/y/approval', 'read'],
  [ACCOUNT_RULES, 'POST', '/device/v1/approvals', 'session'],
  [ACCOUNT_RULES, 'GET', '/device/v1/key-logs/x', 'device'],
  [ACCOUNT_RULES, 'GET', '/device/v1/pending-devices/x', 'session'],
  [ACCOUNT_RULES, 'POST', '/device/v1/pending-devices/x/answer', 'session'],
  [ACCOUNT_RULES, 'GET', '/device/v1/token', 'read'],
  [ACCOUNT_RULES, 'GET', '/device/v1/machine-tokens', 'full'],
  [ACCOUNT_RULES, 'DELETE', '/device/v1/machine-tokens/x', 'full'],
  [ACCOUNT_RULES, 'POST', '/device/v1/machines', 'session'],
  [ACCOUNT_RULES, 'POST', '/api/v1/org', 'full'],
  [ACCOUNT_RULES, 'GET', '/api/v1/org/members', 'full'],
  [ACCOUNT_RULES, 'GET', '/api/v1/guest-codes', 'read'],
  [ACCOUNT_RULES, 'DELETE', '/api/v1/guest-codes/x', 'write'],
  [ACCOUNT_RULES, 'GET', '/device/v1/rosters/x', 'session'],
  [ACCOUNT_RULES, 'POST', '/device/v1/lookups', 'write'],
  [ACCOUNT_RULES, 'GET', '/device/v2/rosters', 'read'],
  [ACCOUNT_RULES, 'GET', '/', 'none'],
]

for (const [rules, method, path, need] of needs)
  test(`${method} ${path} needs ${need} (${rules === REST_RULES ? 'daemon' : 'account server'})`, () => {
    assert.equal(scopeTable(rules)(method, path === '/' ? [] : path.slice(1).split('/')), need)
  })

let daemon: TestDaemon
const tokens: Partial<Record<Caller, string>> = { junk: `csd_${'x'.repeat(36)}` }

before(async () => {
  daemon = await startDaemon()
  for (const scope of ['read', 'write', 'full'] as const) tokens[scope] = await daemon.token(scope)
  tokens.machine = await (await newMachine(daemon)).token('full')
})
after(() => daemon.close())

/** Bodies that are valid enough for the request to reach the device check. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /api/v1/token': { name: 'test', scope: 'read' },
  'POST /api/v1/stamp': { content: 'x' },
  'POST /api/v1/stamps/check': { sha256: '0'.repeat(64), link: 'x' },
  'POST /api/v1/connections': { name: 'test' },
  'POST /api/v1/guest-codes': { label: 'test' },
  'POST /api/v1/guest-codes/{id}/send': { channel: 'email', to: 'ada@example.org' },
  'POST /api/v1/webhooks': { url: 'https://example.org/', types: ['token.*'] },
  'PATCH /api/v1/webhooks/{id}': { name: 'test' },
  'POST /api/v1/devices/{id}/approval': { words: 'matador carload recede nervous' },
  'POST /api/v1/connections/{id}/members/{mid}/role': { role: 'owner' },
}

/** A stream would last. */
const QUERIES: Readonly<Record<string, string>> = { 'GET /api/v1/events': '?wait=0' }

/**
 * Revokes all tokens of its caller. So it is sent to a separate daemon, and for the machine
 * account it is sent last.
 */
const ENDS = 'DELETE /api/v1/account'
const live = cases.toSorted((a, b) => Number(a.route === ENDS) - Number(b.route === ENDS))

/** Starts a daemon that ends with the test, and mints a token for one caller. */
async function another(t: TestContext, scope: Scope): Promise<{ of: TestDaemon; token: string }> {
  const of = await startDaemon()
  t.after(() => of.close())
  return { of, token: await of.token(scope) }
}

for (const { route, method, path, expected } of live)
  test(`over HTTP: ${route}`, async (t) => {
    // No resource has these ids, so a request that is let through changes nothing.
    const target = path.replace(/{\w+}/g, 'nobody')
    for (const { caller, outcome } of expected) {
      const isScope = caller === 'read' || caller === 'write' || caller === 'full'
      const { of, token } =
        route === ENDS && isScope ? await another(t, caller) : { of: daemon, token: tokens[caller] }
      const { status, json, headers } = await of.request(method, target + (QUERIES[route] ?? ''), {
        token,
        body: caller === 'machine' || outcome === 'forbidden' ? BODIES[route] : undefined,
      })
      const answer = json as Record<string, string> | undefined
      const challenge = headers['www-authenticate']
      if (outcome === 'no_device') {
        assert.equal(`${status} ${answer?.['error']}`, '409 no_device', caller)
        continue
      }
      if (outcome === 'forbidden') {
        assert.equal(`${status} ${answer?.['error']}`, '403 forbidden', caller)
        assert.match(answer?.['message'] ?? '', /"countersignd device approve"/)
        continue
      }
      // A machine account is a member of its organisation: its scope allows the request, but its
      // role does not allow the write.
      if (
        caller === 'machine' &&
        path.startsWith('/api/v1/org/') &&
        answer?.['error'] === 'forbidden'
      )
        continue
      if (outcome === 'public' || outcome === 'through') {
        assert(status !== 401 && status !== 403, `${caller}: ${status}`)
        assert.notEqual(answer?.['error'], 'no_device', caller)
        assert.equal(challenge, undefined)
        continue
      }
      assert.equal(status, outcome, caller)
      if (outcome === 403) {
        const need = needOf(method, target.slice(1).split('/')) as Scope
        assert.equal(answer?.['error'], 'insufficient_scope')
        assert.equal(answer['required_scope'], REQUIRED[need])
        assert.match(answer['required_scope'] as string, /^(write or full|full)$/)
        for (const part of [`is ${caller};`, `${method} ${target} `, `requires ${REQUIRED[need]}.`])
          assert(answer['message']?.includes(part), `${answer['message']} lacks ${part}`)
        assert.equal(challenge, `Bearer error="insufficient_scope", scope="${need}"`)
      } else {
        // RFC 6750 section 3.1: no error code if the request had no token.
        assert.equal(challenge, caller === 'none' ? 'Bearer' : 'Bearer error="invalid_token"')
        assert.equal(answer?.['error'], caller === 'none' ? 'unauthorized' : 'invalid_token')
      }
    }
  })
