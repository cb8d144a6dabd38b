/**
 * Listeners like the daemon’s over any tables, with rows that do nothing, and a guard that can be
 * weakened.
 */
import { type Table } from '../../src/api/route.ts'
import {
  ACCOUNT_RULES,
  type Need,
  REST_RULES,
  type AccessLevel,
  scopeTable,
} from '../../src/auth/scopes.ts'
import { invalidToken } from '../../src/auth/tokens.ts'
import { type Request, newDispatch } from '../../src/http/dispatch.ts'
import type { GuardRules } from '../../src/http/guard.ts'
import { hostsOf } from '../../src/http/address.ts'
import { type ServerOptions, listen } from '../../src/http/server.ts'
import { type Listener, type Tables, targetsOf } from './routes.ts'
import type { Caller, Scene } from './scene.ts'

/** The access level of each token; tokens are the callers’ names. */
const STANDINGS: Readonly<Record<string, AccessLevel>> = {
  read: 'read',
  write: 'write',
  full: 'full',
  'machine read': 'read',
  'machine write': 'write',
  'machine full': 'full',
  owner: 'owner',
  device: 'session',
}
const NOBODIES = [
  'an unknown token',
  'a revoked token',
  'an expired token',
  'an unknown machine’s token',
  'a revoked machine’s token',
]

/** Returns the token’s form in a header. */
const tokenOf = (name: string) => name.replaceAll(/\W/g, '-')

export interface Weakness {
  readonly rules?: Partial<GuardRules>
  readonly need?: (method: string, segments: readonly string[]) => Need
  readonly timeouts?: ServerOptions['timeouts']
}

const answersOf = (table: Table) =>
  Object.fromEntries(
    Object.entries(table).map(([group, routes]) => [
      group,
      Object.fromEntries(
        Object.entries(routes).map(([name, { media }]) => {
          const value = media !== undefined ? { type: 'text/plain', body: 'ok' } : { status: 'ok' }
          return [name, async () => value]
        }),
      ),
    ]),
  )

function authenticate({ token }: Pick<Request, 'token'>) {
  const [, scope] = Object.entries(STANDINGS).find(([name]) => tokenOf(name) === token) ?? []
  if (scope === undefined) throw invalidToken()
  return { scope }
}

async function listener(which: Listener, table: Table, weak: Weakness) {
  const own = await listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: () => undefined,
    dispatch: newDispatch<{ scope: AccessLevel }>(table, answersOf(table), {
      need: weak.need ?? scopeTable(which === 'api' ? REST_RULES : ACCOUNT_RULES),
      authenticate,
      context: () => null,
    }),
    rules: (port) => ({
      hosts: hostsOf('127.0.0.1', port),
      navigable:
        which === 'api'
          ? /^\/(?:api\/v1\/docs|console\/open\/\w+)?$/
          : /^\/(?:(?:[gos]|confirm|exports)\/[\w-]+)?$/,
      tokenPaths: which === 'api' ? ['/api/v1/token', '/console/v1/codes'] : [],
      pagePath: which === 'api' ? '/console/v1/session' : null,
      peerAllowed: () => true,
      ...weak.rules,
    }),
    ...(weak.timeouts === undefined ? {} : { timeouts: weak.timeouts }),
  })
  return { ...own, address: `http://127.0.0.1:${own.port}` }
}

/** Starts both listeners. Returns a scene of them, with a function to close it. */
export async function standIn(
  tables: Tables,
  weak: Weakness = {},
): Promise<Scene & { close(): Promise<void> }> {
  const api = await listener('api', tables.api, weak)
  const account = await listener('account', tables.account, weak)
  const at = (one: typeof api) => ({ address: one.address, host: new URL(one.address).host })
  const holder = (name: string, standing: AccessLevel | null): Caller => ({
    name,
    standing,
    refusal: 'invalid_token',
    lines: async () => [`Authorization: Bearer ${tokenOf(name)}`],
  })
  const callers: readonly Caller[] = [
    { name: 'nobody', standing: null, refusal: 'unauthorized', lines: async () => [] },
    ...NOBODIES.map((name) => holder(name, null)),
    ...Object.entries(STANDINGS).map(([name, standing]) => holder(name, standing)),
  ]
  const caller: Scene['caller'] = (_, name) => callers.find((one) => one.name === name) as Caller
  const opens: Scene['opens'] = ({ listener: which, need }) =>
    caller(which, need === 'owner' ? 'owner' : which === 'api' ? 'full' : 'device')
  const no = () => Promise.reject(new Error('Nothing is here but the guard.'))
  return {
    channel: 'tcp',
    at: { api: at(api), account: at(account) },
    targets: targetsOf(tables),
    callers: { api: callers, account: callers.filter(({ name }) => name !== 'owner') },
    caller,
    opens,
    opening: (target) => opens(target).lines(target.method, target.path) as Promise<string[]>,
    secrets: [],
    request: no,
    state: async () => '',
    pid: undefined,
    close: async () => {
      await Promise.all([api.close(0), account.close(0)])
    },
  }
}
