/**
 * What is attacked: every route of every table, at the listener that answers it, and what is no route. A row that is added to a
 * table is attacked from then on. What a route needs is written here once more, from the interface's description and by tables, so
 * that the scope table is not judged by itself.
 */
import { agents } from '../../src/api/agents/index.ts'
import { entrance, signedIn } from '../../src/api/device/index.ts'
import { docsTable } from '../../src/api/docs/index.ts'
import { local } from '../../src/api/local/index.ts'
import type { Route, Table } from '../../src/api/route.ts'
import { site } from '../../src/api/site/index.ts'
import type { Need } from '../../src/auth/scopes.ts'
import { apiTable } from '../../src/daemon/daemon.ts'
import { rowsOf } from '../../src/http/dispatch.ts'
import { accountTable } from '../../src/http/account-listener.ts'

/** The API, or the account server's own listener. */
export type Listener = 'api' | 'account'

export interface Tables {
  readonly api: Table
  readonly account: Table
}

/** Everything that a daemon with its own account server answers. */
export const TABLES: Tables = {
  api: apiTable,
  account: accountTable,
}

export interface Target {
  readonly listener: Listener
  /** `group.row`, or that it is none. */
  readonly name: string
  readonly method: string
  /** With its parameters filled in. */
  readonly path: string
  /** What the route demands after the path, `?` included, or nothing. */
  readonly query: string
  /** The path as the table has it. */
  readonly pattern: string
  /** The row; null for a path that leads nowhere. */
  readonly route: Route | null
  readonly need: Need
  /** All methods of this path; empty for one that leads nowhere. */
  readonly methods: readonly string[]
  /** Of the routes of one path, the first. */
  readonly isFirst: boolean
}

const PUBLIC = new Set(
  ['/health', '/api/v1/health', '/api/v1/openapi.json', '/api/v1/docs', '/api/v1/token'].concat(
    rowsOf(docsTable).map(({ route }) => route.path),
  ),
)

/** Groups that take less, or something else, than the session of an approved device. */
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

/** What a route of this group needs. */
function needOf(listener: Listener, group: string, route: Pick<Route, 'method' | 'path'>): Need {
  if (listener === 'account') {
    if (group in site || group in entrance) return 'none'
    return group in signedIn ? (DEVICE_GROUPS[group] ?? 'session') : usual(route)
  }
  const { path } = route
  if (group in local) return 'owner'
  if (group in agents) return 'read'
  if (PUBLIC.has(path)) return 'none'
  return /^\/api\/v1\/api-tokens(\/|$)/.test(path) ? 'full' : usual(route)
}

/** Ids that nobody has, and names, for what stands in a path. */
const PLAUSIBLE: Readonly<Record<string, string>> = {
  slug: 'say-hello',
  name: 'style.css',
  token: 'A'.repeat(43),
}
const plausible = (name: string) => PLAUSIBLE[name] ?? `con_${'0'.repeat(26)}`

/** A query that is valid, for each route that demands one. */
const QUERIES: Readonly<Record<string, string>> = {
  'DELETE /device/v1/envelopes/{connection}': '?epoch=1',
}

/** Knows of something real that a collection holds, such as `/api/v1/tags`. */
export type IdIn = (collection: string) => string | undefined

function filled(pattern: string, idIn: IdIn): string {
  const at = pattern.indexOf('/{')
  const real = at === -1 ? undefined : idIn(pattern.slice(0, at))
  const first = real === undefined ? pattern : pattern.replace(/{\w+}/, real)
  return first.replace(/{(\w+)}/g, (_, name: string) => plausible(name))
}

const NOWHERE = ['/nowhere', '/api/v1/nowhere', '/api/v2/org/members']

/** Every route, in the order of the tables, and a few paths that lead nowhere. */
export function targetsOf(tables: Tables = TABLES, idIn: IdIn = () => undefined): Target[] {
  return (['api', 'account'] as const).flatMap((listener) => {
    const rows = rowsOf(tables[listener]).flatMap(({ group, name, route }) =>
      [route.path, ...(route.also === undefined ? [] : [route.also])].map((pattern) => ({
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

/** A page or a file that a link from elsewhere may open. */
export const isLinked = ({ route, need }: Target): boolean =>
  need === 'none' &&
  route?.method === 'GET' &&
  route.media?.some((type) => /^(text\/html|application\/zip)/.test(type)) === true

export const nameOf = ({ listener, method, path }: Target): string =>
  `${listener} ${method} ${path}`
