/**
 * The targets: every route of every table, at the listener that answers it, and paths without a
 * route. A new row of a table is attacked from then on. The needs of the routes are repeated
 * here, from the interface’s description and by tables, so that the scope table is not tested
 * against itself.
 */
import { agents } from '../../src/api/agents/index.ts'
import { consoleTable } from '../../src/api/console/index.ts'
import { entrance, signedIn } from '../../src/api/device/index.ts'
import { docsTable } from '../../src/api/docs/index.ts'
import { local } from '../../src/api/local/index.ts'
import { type Route, type Table, everyPath } from '../../src/api/route.ts'
import { site } from '../../src/api/site/index.ts'
import type { Need } from '../../src/auth/scopes.ts'
import { apiTable } from '../../src/daemon/daemon.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { accountTable } from '../../src/http/account-listener.ts'

/** The API, or the account server’s own listener. */
export type Listener = 'api' | 'account'

export interface Tables {
  readonly api: Table
  readonly account: Table
}

/** Every route of a daemon with an embedded account server. */
export const TABLES: Tables = {
  api: apiTable,
  account: accountTable,
}

export interface Target {
  readonly listener: Listener
  /** `group.row`, or a text for a path without a row. */
  readonly name: string
  readonly method: string
  /** With its parameters filled in. */
  readonly path: string
  /** The query that the route requires, with its `?`, or empty. */
  readonly query: string
  /** The path of the table. */
  readonly pattern: string
  /** The row; null for a path without a route. */
  readonly route: Route | null
  readonly need: Need
  /** All methods of this path; empty if it has no route. */
  readonly methods: readonly string[]
  /** Whether this is the first route of its path. */
  readonly isFirst: boolean
}

const PUBLIC = new Set(
  ['/health', '/api/v1/health', '/api/v1/openapi.json', '/api/v1/docs', '/api/v1/token'].concat(
    rowsOf(docsTable).map(({ route }) => route.path),
  ),
)

/** Groups that need less, or something else, than the session of an approved device. */
const DEVICE_GROUPS: Readonly<Record<string, Need>> = {
  currentSession: 'device',
  approval: 'device',
  downloads: 'device',
  keyLogs: 'device',
  bearer: 'read',
  machineTokens: 'full',
  lookups: 'write',
} satisfies Partial<Record<keyof typeof signedIn, Need>>

const usual = ({ method, path }: Pick<Route, 'method' | 'path'>): Need =>
  /^\/api\/v1\/org(\/|$)/.test(path) ? 'full' : method === 'GET' ? 'read' : 'write'

/** Paths of the daemon that need `full`. */
const FULL = /^\/api\/v1\/(api-tokens|audit|doctor|devices\/\{id\}\/approval)(\/|$)/

/** Returns the need of a route in this group. */
function needOf(listener: Listener, group: string, route: Pick<Route, 'method' | 'path'>): Need {
  if (listener === 'account') {
    if (group in site || group in entrance) return 'none'
    return group in signedIn ? (DEVICE_GROUPS[group] ?? 'session') : usual(route)
  }
  const { path } = route
  if (group in local) return 'owner'
  if (group in agents) return 'read'
  if (group in consoleTable) return route.method === 'DELETE' ? 'read' : 'none'
  if (PUBLIC.has(path)) return 'none'
  if (group === 'approvals' || group === 'doctor') return 'full'
  // The URL of a webhook may contain a secret.
  if (/^\/api\/v1\/webhooks(\/|$)/.test(path)) return 'write'
  return FULL.test(path) ? 'full' : usual(route)
}

/** Unused ids, and names, for the parameters of a path. */
const PLAUSIBLE: Readonly<Record<string, string>> = {
  slug: 'say-hello',
  name: 'style.css',
  token: 'A'.repeat(43),
}
const plausible = (name: string) => PLAUSIBLE[name] ?? `con_${'0'.repeat(26)}`

/** A valid query for each route that requires one. */
const QUERIES: Readonly<Record<string, string>> = {
  'DELETE /device/v1/envelopes/{connection}': '?epoch=1',
  // An answer that ends, instead of a stream.
  'GET /api/v1/events': '?wait=0',
}

/** Returns the id of a real resource in a collection, such as `/api/v1/tags`. */
export type IdIn = (collection: string) => string | undefined

function filled(pattern: string, idIn: IdIn): string {
  const at = pattern.indexOf('/{')
  const real = at === -1 ? undefined : idIn(pattern.slice(0, at))
  const first = real === undefined ? pattern : pattern.replace(/{\w+}/, real)
  return first.replace(/{(\w+)}/g, (_, name: string) => plausible(name))
}

const NOWHERE = ['/nowhere', '/api/v1/nowhere', '/api/v2/org/members']

/** Returns every route in the order of the tables, and a few paths without a route. */
export function targetsOf(tables: Tables = TABLES, idIn: IdIn = () => undefined): Target[] {
  return (['api', 'account'] as const).flatMap((listener) => {
    const rows = rowsOf(tables[listener]).flatMap(({ group, name, route }) =>
      everyPath(route).map((pattern) => ({
        group,
        name: `${group}.${name}`,
        pattern,
        route,
      })),
    )
    const seen = new Set<string>()
    const known = rows.map(({ group, name, pattern, route }): Target => {
      const isFirst = !seen.has(pattern)
      seen.add(pattern)
      return {
        listener,
        name,
        pattern,
        route,
        isFirst,
        method: route.method,
        path: filled(pattern, idIn),
        query: QUERIES[`${route.method} ${pattern}`] ?? '',
        need: needOf(listener, group, route),
        methods: rows.filter((row) => row.pattern === pattern).map((row) => row.route.method),
      }
    })
    const unknown = NOWHERE.flatMap((path) =>
      ['GET', 'POST'].map((method): Target => ({
        listener,
        name: 'no such path',
        method,
        path,
        query: '',
        pattern: path,
        route: null,
        need: method === 'GET' ? 'read' : 'write',
        methods: [],
        isFirst: method === 'GET',
      })),
    )
    return [...known, ...unknown]
  })
}

/** Returns whether a target is a page or file that a link of another site may open. */
export const isLinked = ({ route, need }: Target): boolean =>
  need === 'none' &&
  route?.method === 'GET' &&
  route.media?.some((type) => /^(text\/html|application\/zip)/.test(type)) === true

export const nameOf = ({ listener, method, path }: Target): string =>
  `${listener} ${method} ${path}`
