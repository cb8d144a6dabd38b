/** Derives the errors that a row can return from the row and its need. */
import { Words } from '../fields.ts'
import { BACKEND_ERRORS, type Route, type RowSchema, isOnce } from '../route.ts'
import { CODES, type ErrorCode, statusOf } from '../../errors.ts'

/** The two programs that serve rows. Some rows are served by both. */
export type Server = 'daemon' | 'account server'

/** A row, with its need from the scope table. */
export interface NeededRow {
  readonly route: Route
  readonly need: string
}

/** The errors that any request to either server can get. */
const ANYWHERE = [
  'bad_request',
  'host_not_allowed',
  'origin_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'internal',
  'shutting_down',
  'storage_full',
] as const satisfies readonly ErrorCode[]

/**
 * The errors of requests with a machine account's token.
 *
 * The daemon checks such a token at the account server, which may be unreachable, and the machine
 * account may be suspended.
 */
const MACHINE_ERRORS = [
  'forbidden',
  'rate_limited',
  'backend_error',
  'backend_unavailable',
  'backend_timeout',
] as const satisfies readonly ErrorCode[]

/** Returns the errors that every request with the same need can get. */
function anyOf({ need }: NeededRow, server: Server): readonly ErrorCode[] {
  if (server === 'account server') return [...ANYWHERE, 'backend_unavailable']
  const takesToken = need === 'read' || need === 'write' || need === 'full'
  return [...ANYWHERE, 'keychain_locked', ...(takesToken ? MACHINE_ERRORS : [])]
}

const takesWords = (body: RowSchema | undefined) =>
  Object.values((body as { entries?: Readonly<Record<string, unknown>> })?.entries ?? {}).includes(
    Words,
  )

/** Whether a row is a page. Pages accept any query. */
const isPage = ({ query, body, media }: Route) =>
  query === undefined && body === undefined && media !== undefined

/** A row with its need, its group and its name. */
export interface RowPlace extends NeededRow {
  readonly group: string
  readonly name: string
}

type Rule = readonly [applies: boolean, ...codes: ErrorCode[]]

/** Returns the rules that apply to a row at both servers. */
function commonRules({ route, need }: NeededRow): Rule[] {
  const { method, path, by, form, errors = [] } = route
  const inOrganisation = path.startsWith('/api/v1/org/')
  return [
    [need !== 'none', 'unauthorized', 'invalid_token'],
    [need === 'write' || need === 'full', 'insufficient_scope'],
    [inOrganisation, 'no_active_organisation'],
    [inOrganisation && method !== 'GET', 'forbidden'],
    [path.includes('{'), 'not_found'],
    [!isPage(route), 'validation_failed'],
    [form === true, 'invalid_request'],
    [method !== 'GET', 'invalid_json', 'payload_too_large', 'unsupported_media_type'],
    [need !== 'none' && isOnce(route), 'idempotency_mismatch', 'in_progress'],
    // Another request may have deleted a resource to which a write request refers
    // (service/db/faults.ts).
    [by !== 'daemon' && method !== 'GET', 'conflict'],
    [true, ...errors],
  ]
}

function daemonRules({ route, need }: NeededRow): Rule[] {
  const { method, by, body, handlerErrors = [] } = route
  return [
    [need === 'none', 'host_not_allowed', 'origin_not_allowed'],
    [need === 'none' && method === 'POST', 'peer_not_allowed'],
    [need === 'owner', 'forbidden'],
    [takesWords(body), 'unknown_word', 'word_count', 'rate_limited'],
    [by !== 'daemon', ...BACKEND_ERRORS],
    [by !== 'daemon' && method !== 'GET', 'no_device'],
    [true, ...handlerErrors],
  ]
}

const accountServerRules = ({ need }: NeededRow): Rule[] => [
  [need !== 'none', 'forbidden', 'rate_limited'],
]

/** Returns the codes that a row declares, and the codes that follow from its fields. */
function codesOfRow(row: NeededRow, server: Server): ErrorCode[] {
  const own = server === 'daemon' ? daemonRules(row) : accountServerRules(row)
  return [...commonRules(row), ...own].flatMap(([applies, ...codes]) => (applies ? codes : []))
}

/** Returns every code that a row can return. */
export const everyCodeOf = (row: NeededRow, server: Server): Set<ErrorCode> =>
  new Set([...codesOfRow(row, server), ...anyOf(row, server)])

/**
 * Returns the codes that a row can return, by status, in the order of `CODES`.
 *
 * A code that every request can get is listed under `default` if the row has no other code with its
 * status.
 */
export function codesOf(row: NeededRow, server: Server): Map<string, ErrorCode[]> {
  const found = new Map<string, ErrorCode[]>()
  const note = (status: string, code: ErrorCode) =>
    found.set(status, [...new Set([...(found.get(status) ?? []), code])])
  for (const code of codesOfRow(row, server)) note(String(statusOf(code)), code)
  const known = new Set(found.keys())
  for (const code of anyOf(row, server)) {
    const status = String(statusOf(code))
    note(known.has(status) ? status : 'default', code)
  }
  return new Map(
    [...found]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([status, codes]) => [status, CODES.filter((code) => codes.includes(code))]),
  )
}
