/**
 * The meaning and the remedy of each error, for the OpenAPI document and the documentation page.
 */
import { CODES, type ErrorCode, statusOf } from '../../errors.ts'

interface Explanation {
  readonly meaning: string
  readonly remedy: string
}

const atOauth = (meaning: string, remedy: string): Explanation => ({
  meaning: `${meaning} Only at \`/oauth/token\` of an account server.`,
  remedy,
})

const EXPLANATIONS: Readonly<Record<ErrorCode, Explanation>> = {
  bad_request: {
    meaning: 'The request is not the HTTP that is taken here: its framing, its headers, its path.',
    remedy: 'Send HTTP/1.1 with one `Host`, the path in its one spelling, and headers once.',
  },
  invalid_json: {
    meaning:
      'The body is not JSON in UTF-8, is nested too deeply, or has a name twice. The message names the place.',
    remedy: 'Check quotes, commas and the encoding; let a library write it.',
  },
  invalid_request: {
    meaning:
      'The form is unreadable, or a parameter in it is missing or given twice. Only from an account server: from `/oauth/token` and the forms of its pages.',
    remedy: 'Mend what the message names; `/oauth/token` takes the form of RFC 7523.',
  },
  invalid_scope: atOauth('No such scope.', 'Ask for `read`, `write` or `full`.'),
  unsupported_grant_type: atOauth(
    'No such grant.',
    'Send `grant_type=client_credentials` with an assertion of the machine’s key.',
  ),
  unauthorized: {
    meaning: 'The route needs a token and got none.',
    remedy: 'Send `Authorization: Bearer <token>`; `countersignd token create` makes one.',
  },
  invalid_client: {
    meaning:
      'The assertion does not prove the machine account, or that is suspended. Only from an account server: from `/oauth/token`, and where a machine account signs in or enrols a device.',
    remedy:
      'Check the machine’s key file, the clock, and that the account server has its public address in `SVC_PUBLIC_URL`.',
  },
  invalid_token: {
    meaning: 'The token is unknown, expired or revoked. The answer does not distinguish these.',
    remedy: 'Create another one; `GET /api/v1/api-tokens` lists those that are good.',
  },
  forbidden: {
    meaning:
      'The token would do, but this account may not: another role, another owner, or a device that waits for approval.',
    remedy: 'The message names who may. Ask them, or approve the device.',
  },
  host_not_allowed: {
    meaning: 'The `Host` header names something else than this server, as after DNS rebinding.',
    remedy: 'Use the address that the daemon prints when it starts; the message lists all of them.',
  },
  insufficient_scope: {
    meaning: 'The token’s scope is too narrow. `required_scope` names the needed one.',
    remedy: 'Use a token of that scope. Nothing was done.',
  },
  origin_not_allowed: {
    meaning: 'A browser sent this for a page of another origin, or to create a token.',
    remedy:
      'Call from a program, or from this server’s own page. Tokens are made by `countersignd token create` or a script.',
  },
  peer_not_allowed: {
    meaning: 'Another user of this machine asked for a token.',
    remedy: 'Ask as the daemon’s user, or have its owner name you in `SVC_TOKEN_USERS`.',
  },
  no_such_route: {
    meaning: 'There is no such path here.',
    remedy: 'Check the spelling against this document; paths have no slash at the end.',
  },
  not_found: {
    meaning: 'Nothing of yours has this id. The answer is the same for things of others.',
    remedy: 'List the group again. After a `DELETE` this is the answer of its repetition.',
  },
  method_not_allowed: {
    meaning: 'The path is there and does not take this method.',
    remedy: 'Use one that the `Allow` header names.',
  },
  request_timeout: {
    meaning: 'The request did not arrive in time.',
    remedy: 'Send it again, on a new connection.',
  },
  conflict: {
    meaning:
      'It collides with the stored state: a name that is taken, a limit, a concurrent change.',
    remedy: 'The message names the conflict. Read again, then decide.',
  },
  export_not_ready: {
    meaning: 'The export is still being built, or failed: see `state`.',
    remedy: 'Ask for the export until it is `ready`; ask for a new one where it is `failed`.',
  },
  no_active_organisation: {
    meaning: 'No organisation is active in this session.',
    remedy: 'Choose one by `POST /api/v1/context/active-org`.',
  },
  in_progress: {
    meaning: 'A request under the same `Idempotency-Key` is still being answered.',
    remedy: 'Repeat it after `Retry-After`: it gets the first one’s answer.',
  },
  invalid_state: {
    meaning: 'What it is about is in a `state` that does not allow this.',
    remedy: '`state` and the message name the missing step. Repeating alone does not help.',
  },
  no_device: {
    meaning:
      'This needs the keys of a device, and the caller has none: a `csm_` token, or a device that waits for approval.',
    remedy: 'Ask with a token of a daemon that is signed in and approved.',
  },
  not_signed_in: {
    meaning: 'This daemon is not signed in.',
    remedy: 'Run `countersignd login`.',
  },
  secret_unavailable: {
    meaning: 'This device does not hold the secret that is needed; another one does.',
    remedy:
      'Sync there, then here (`POST /api/v1/sync`), or ask the device that the message names.',
  },
  payload_too_large: {
    meaning: 'The body is larger than the route accepts. The message names the limit.',
    remedy: 'Send less; a large content is stamped by its `sha256`.',
  },
  unsupported_media_type: {
    meaning: 'The body comes in a type, or a coding, that is not taken.',
    remedy: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
  },
  expectation_failed: {
    meaning: 'The `Expect` header asks for something that this server does not support.',
    remedy: 'Leave it out, or send `100-continue`.',
  },
  idempotency_mismatch: {
    meaning: 'This `Idempotency-Key` was used for another request within the last 24 hours.',
    remedy: 'Take a new key for every new request.',
  },
  too_long: {
    meaning: 'The purpose of a challenge has more than 64 letters and digits.',
    remedy: 'Shorten it on both sides: for example to the amount and the receiver.',
  },
  unknown_word: {
    meaning: '`word` is not on the list of words, so nothing was checked.',
    remedy: 'Ask for the words again; `suggestions` has words that sound or look like it.',
  },
  validation_failed: {
    meaning: 'The request does not fit its schema. `issues` lists each fault by its path.',
    remedy: 'Mend what is listed; unknown fields are faults too.',
  },
  word_count: {
    meaning:
      'Three words are wanted, or one for a challenge; `found` were given. Nothing was checked.',
    remedy: 'Send the words in the spoken order.',
  },
  rate_limited: {
    meaning: 'Too many tries in a time.',
    remedy: 'Wait for the seconds of `Retry-After`.',
  },
  headers_too_large: {
    meaning: 'The headers are larger than 16 KiB.',
    remedy: 'Send fewer or shorter ones.',
  },
  internal: {
    meaning: 'Something failed here that should not.',
    remedy: 'Look in the daemon’s log for the answer’s `X-Request-Id`.',
  },
  backend_error: {
    meaning: 'The account server answered what it must not, or failed. Nothing of it was believed.',
    remedy: 'Try again later; if it stays, ask who runs the server.',
  },
  backend_unavailable: {
    meaning: 'The account server, or its database, is out of reach.',
    remedy: 'Check the network and `SVC_BACKEND_URL`; try again later.',
  },
  keychain_locked: {
    meaning: 'The keychain with this device’s secrets is locked, out of reach or damaged.',
    remedy: 'Unlock it by logging in to the desktop, then try again.',
  },
  shutting_down: {
    meaning: 'The daemon is stopping: it finishes running requests and accepts no new ones.',
    remedy: 'Try again after the seconds of `Retry-After`.',
  },
  backend_timeout: {
    meaning: 'The account server did not answer in time. Whether it did what was asked is open.',
    remedy: 'Repeat the request, a POST under its `Idempotency-Key`, so that it is done once.',
  },
  storage_full: {
    meaning: 'The disk is full, read-only or failing, and nothing was stored.',
    remedy: 'Make room, or look after the disk, then try again.',
  },
}

const explained = CODES.map((code) => {
  const { meaning, remedy } = EXPLANATIONS[code]
  return `### ${code} (${statusOf(code)})\n\n${meaning} ${remedy}`
})

/** A section in Markdown that explains how to get a token. */
export const TOKENS = `## Tokens

Routes that are not public need \`Authorization: Bearer <token>\`. \`countersignd token create\` makes a token, or a script by \`POST /api/v1/token\`; no browser may, so
neither does the page of this document. Pasted there under Authentication, a token is sent to this daemon alone, and is forgotten when the tab is closed or reloaded.`

/**
 * A section in Markdown about all errors.
 *
 * Each error has its own heading, so that the page can link to it.
 */
export const ERRORS = `## Errors

Every error has one shape: \`{"error": "…", "message": "…"}\`. \`error\` is stable and is what a program should look at; \`message\` is safe to show.
Some have a further member, which is named below.

${explained.join('\n\n')}`
