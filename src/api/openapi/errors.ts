/** The errors that a row may answer, from the row and its need, and an example of each. */
import { Words } from '../fields.ts'
import { BACKEND_ERRORS, type Route, type RowSchema, isOnce } from '../route.ts'
import { CODES, type ErrorCode, type Details, statusOf } from '../../errors.ts'

/**
 * The codes of a daemon: without those of an OAuth token endpoint (RFC 6749 section 5.2) and of
 * unknown paths.
 */
export type DaemonCode = Exclude<
  ErrorCode,
  | 'invalid_client'
  | 'invalid_request'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  | 'no_such_route'
  | 'method_not_allowed'
>

/** The two programs that answer rows. Some rows are answered by both. */
export type Server = 'daemon' | 'account server'

/** A row, and its need in the scope table. */
export interface NeededRow {
  readonly route: Route
  readonly need: string
}

/** The errors that any request to any server can get. */
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
] as const satisfies readonly DaemonCode[]

/**
 * The errors of a machine account's token, which the daemon checks at the account server: that
 * may be out of reach, and the machine account may be suspended.
 */
const MACHINE_ERRORS = [
  'forbidden',
  'rate_limited',
  'backend_error',
  'backend_unavailable',
  'backend_timeout',
] as const satisfies readonly DaemonCode[]

/** Returns the errors that any request of the same need can get at a server. */
function anyOf({ need }: NeededRow, server: Server): readonly ErrorCode[] {
  if (server === 'account server') return [...ANYWHERE, 'backend_unavailable']
  const takesToken = need === 'read' || need === 'write' || need === 'full'
  return [...ANYWHERE, 'keychain_locked', ...(takesToken ? MACHINE_ERRORS : [])]
}

const takesWords = (body: RowSchema | undefined) =>
  Object.values((body as { entries?: Readonly<Record<string, unknown>> })?.entries ?? {}).includes(
    Words,
  )

/** Returns whether a row is a page, which accepts any query. */
const isPage = ({ query, body, media }: Route) =>
  query === undefined && body === undefined && media !== undefined

/** A row with its group and its name. */
export interface RowPlace extends NeededRow {
  readonly group: string
  readonly name: string
}

type Rule = readonly [applies: boolean, ...codes: ErrorCode[]]

/** The codes that follow from the fields of a row at either server. */
function commonRules({ route, need }: NeededRow): Rule[] {
  const { method, path, errors = [] } = route
  const inOrganisation = path.startsWith('/api/v1/org/')
  return [
    [need !== 'none', 'unauthorized', 'invalid_token'],
    [need === 'write' || need === 'full', 'insufficient_scope'],
    [inOrganisation, 'no_active_organisation'],
    [inOrganisation && method !== 'GET', 'forbidden'],
    [path.includes('{'), 'not_found'],
    [!isPage(route), 'validation_failed'],
    [method !== 'GET', 'invalid_json', 'payload_too_large', 'unsupported_media_type'],
    [need !== 'none' && isOnce(route), 'idempotency_mismatch', 'in_progress'],
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

/** Returns the codes of a row: those that it declares, and those that follow from its fields. */
function codesOfRow(row: NeededRow, server: Server): ErrorCode[] {
  const own = server === 'daemon' ? daemonRules(row) : accountServerRules(row)
  return [...commonRules(row), ...own].flatMap(([applies, ...codes]) => (applies ? codes : []))
}

/** Returns every code that a row may answer. */
export const everyCodeOf = (row: NeededRow, server: Server): Set<ErrorCode> =>
  new Set([...codesOfRow(row, server), ...anyOf(row, server)])

/**
 * Returns the codes that a row may answer, by status, in the order of `CODES`. Codes that any
 * request may get, with a status that the row lacks, are under `default`.
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

/** An example body of each error. */
export const BODIES: Readonly<Record<DaemonCode, Details & { readonly message: string }>> = {
  bad_request: { message: 'This is not well-formed HTTP/1.1.' },
  invalid_json: {
    message:
      'The body is not JSON in UTF-8 (at line 1 column 9): check quotes, commas and encoding.',
  },
  unauthorized: {
    message:
      'This route needs a token: send "Authorization: Bearer <token>". POST /api/v1/token makes one.',
  },
  invalid_token: {
    message:
      'This token is wrong, expired or revoked. Create another with "countersignd token create".',
  },
  forbidden: { message: 'Only an owner of the connection may do that: ask one of them.' },
  host_not_allowed: {
    message: 'This server answers to Host 127.0.0.1:19821, localhost:19821 only.',
  },
  insufficient_scope: {
    message:
      "This token's scope is read; POST /api/v1/connections requires write or full. Use a token with that scope.",
    required_scope: 'write or full',
  },
  origin_not_allowed: { message: 'Pages of other origins may not call this server.' },
  peer_not_allowed: {
    message:
      "Only the daemon's own user may create tokens here. SVC_TOKEN_USERS names further users.",
  },
  not_found: { message: 'There is no such connection.' },
  request_timeout: { message: 'The request did not arrive in time: send it again.' },
  conflict: { message: 'You have a tag of this name already: choose another name.' },
  export_not_ready: { message: 'The export is being built: ask again.', state: 'building' },
  no_active_organisation: {
    message: 'No organisation is active: choose one with POST /api/v1/context/active-org.',
  },
  in_progress: {
    message:
      'A request with this Idempotency-Key is still being answered: repeat this one in a moment.',
  },
  invalid_state: {
    message: 'This invitation was declined: it takes another one.',
    state: 'declined',
  },
  no_device: {
    message:
      'A machine account’s token has no device here, and this needs one: ask with a token of this daemon.',
  },
  not_signed_in: { message: 'No account is signed in on this device: run "countersignd login".' },
  secret_unavailable: {
    message:
      'Waiting for your device "laptop" to hand over the words for "Bank": sync there ("countersignd sync"), then here.',
  },
  payload_too_large: {
    message: 'The body is larger than 1048576 bytes, the most taken here.',
  },
  unsupported_media_type: { message: 'Send the body as Content-Type: application/json.' },
  expectation_failed: { message: 'The only expectation met here is 100-continue.' },
  idempotency_mismatch: {
    message:
      'This Idempotency-Key was used for another request: take a new key for every new request.',
  },
  too_long: {
    message:
      'The purpose is too long: 70 letters and digits; a purpose has at most 64. Shorten it.',
  },
  unknown_word: {
    message: '"matadore" is not on the word list. Did you mean matador?',
    word: 'matadore',
    suggestions: ['matador'],
  },
  validation_failed: {
    message: 'The request is not valid (name): Give at least one character.',
    issues: [{ path: 'name', message: 'Give at least one character.' }],
  },
  word_count: { message: 'Three words are wanted; 2 were given.', found: 2 },
  rate_limited: {
    message: 'Too many wrong words: 20 a minute is the most for a token. Try again in 42 s.',
  },
  headers_too_large: { message: 'The headers are larger than 16384 bytes.' },
  internal: { message: 'Something went wrong here. The log has the details.' },
  backend_error: {
    message: 'The account server https://countersign.example answered what is no answer of one.',
  },
  backend_unavailable: {
    message: 'The account server https://countersign.example is out of reach. Try again later.',
  },
  keychain_locked: {
    message: 'The keychain has no keys of this device: unlock or restore it.',
  },
  shutting_down: { message: 'This server is stopping. Ask again when it runs again.' },
  backend_timeout: {
    message: 'The account server https://countersign.example did not answer in time.',
  },
  storage_full: { message: 'The disk is full: free some space and try again.' },
}

/** Returns an example of each of these codes, by code. */
export type ErrorExamples = (codes: ReadonlySet<ErrorCode>) => Record<string, unknown>

/** Bodies of errors: the message, and the other members. */
export type ErrorBodies = Readonly<
  Partial<Record<ErrorCode, Details & { readonly message: string }>>
>

/** Returns a function that creates an example of each code that has a body. */
export const examplesFrom =
  (bodies: ErrorBodies): ErrorExamples =>
  (codes) =>
    Object.fromEntries(
      Object.entries(bodies)
        .filter(([error]) => codes.has(error as ErrorCode))
        .map(([error, body]) => [error, { value: { error, ...body } }]),
    )

/** The examples of a daemon. */
export const errorExamples = examplesFrom(BODIES)
