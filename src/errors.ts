/**
 * Errors for callers (`AppError`), and errors that prevent the program from starting
 * (`StartError`). Each AppError has a stable code. Its message is for the caller and names the
 * remedy. Its cause is only for the log.
 */

/** Every error code of the interface and its HTTP status. */
const STATUS = {
  bad_request: 400,
  invalid_json: 400,
  invalid_request: 400,
  invalid_scope: 400,
  unsupported_grant_type: 400,
  unauthorized: 401,
  invalid_client: 401,
  invalid_token: 401,
  forbidden: 403,
  host_not_allowed: 403,
  insufficient_scope: 403,
  insufficient_user_authentication: 403,
  origin_not_allowed: 403,
  peer_not_allowed: 403,
  no_such_route: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  export_not_ready: 409,
  no_active_organisation: 409,
  in_progress: 409,
  invalid_state: 409,
  no_device: 409,
  not_signed_in: 409,
  secret_unavailable: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_mismatch: 422,
  too_long: 422,
  unknown_word: 422,
  validation_failed: 422,
  word_count: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  backend_error: 502,
  backend_unavailable: 503,
  keychain_locked: 503,
  shutting_down: 503,
  backend_timeout: 504,
  storage_full: 507,
} as const

export type ErrorCode = keyof typeof STATUS

/** All codes, for the OpenAPI document. */
export const CODES = Object.keys(STATUS) as readonly ErrorCode[]

/** Returns the HTTP status of a code. */
export const statusOf = (code: ErrorCode): number => STATUS[code]

/**
 * One fault in a request, as reported by `validation_failed`. `path` is the dotted path of the
 * field, or empty for the whole body.
 */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** Optional fields of the error body, besides `error` and `message`. */
export interface Details {
  readonly required_scope?: string
  readonly issues?: readonly Issue[]
  readonly state?: string
  /** The hash of the newest entry in the log that rejected a new entry, in base64url. */
  readonly head?: string
  readonly found?: number
  /** What the program depends on, if it is not ready. */
  readonly dependencies?: readonly {
    readonly service: string
    readonly status: string
    readonly message: string
  }[]
  readonly word?: string
  readonly suggestions?: readonly string[]
  /** The text that OAuth clients read in place of `message` (RFC 6749 section 5.2). */
  readonly error_description?: string
}

/** An error that a caller may see. `message` is safe to show; `options.cause` is only logged. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: Details
  /** Response header fields of the error: `Allow`, `Retry-After`, `WWW-Authenticate`. */
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      details?: Details
      headers?: Readonly<Record<string, string>>
      cause?: unknown
    } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {})
    this.name = 'AppError'
    this.code = code
    this.details = options.details ?? {}
    this.headers = options.headers ?? {}
  }

  /** Returns the body of the response: `{error, message, …details}`. */
  toJSON(): { error: ErrorCode; message: string } & Details {
    return { error: this.code, message: this.message, ...this.details }
  }
}

/** Exit codes of the program, documented in `docs/cli.md`; scripts rely on them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  portTaken: 4,
  stateInUse: 5,
  stateUnsafe: 6,
  stateNewer: 7,
  keychain: 8,
  daemonSilent: 9,
  notVerified: 10,
  inconclusive: 11,
  stateOlder: 12,
  /** Of `status`, `publish` and `open`: no daemon runs. */
  noDaemon: 13,
  ambiguous: 14,
  /** The number that shells use for a program that SIGINT (2) ended. */
  interrupted: 130,
} as const

/** A reason why the program cannot start or continue, with its exit code. */
export class StartError extends Error {
  readonly exit: number

  constructor(exit: keyof typeof EXIT, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'StartError'
    this.exit = EXIT[exit]
  }
}

/**
 * Returns whether an error of `node:fs` means that the disk is full or the user's quota is used
 * up.
 */
export const isFullDisk = (cause: unknown): boolean => {
  const { code } = (cause ?? {}) as { code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** SQLite's result code for a full disk. */
const SQLITE_FULL = 13

/**
 * Converts any error to an AppError for the caller. An AppError stays as it is, a full disk becomes
 * `storage_full`, and every other error becomes `internal`.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  if (isFullDisk(error) || errcode === SQLITE_FULL)
    return new AppError('storage_full', 'The disk is full. Free some space and try again.', {
      cause: error,
    })
  return new AppError('internal', 'Something went wrong here. The log has the details.', {
    cause: error,
  })
}
