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
    meaning: 'The framing, headers or path of the HTTP request are not valid.',
    remedy: 'Send HTTP/1.1 with one `Host`, the path exactly as documented, and each header once.',
  },
  invalid_json: {
    meaning:
      'The body is not JSON in UTF-8, is nested too deeply, or has a duplicate name. The message gives the place.',
    remedy: 'Check quotes, commas and encoding, or write the body with a JSON library.',
  },
  invalid_request: {
    meaning:
      'The form is not valid, or a parameter in it is missing or given twice. Only from an account server: from `/oauth/token` and the forms of its pages.',
    remedy: 'Correct what the message names. `/oauth/token` expects the form of RFC 7523.',
  },
  invalid_scope: atOauth('The scope does not exist.', 'Ask for `read`, `write` or `full`.'),
  unsupported_grant_type: atOauth(
    'The grant type is not supported.',
    'Send `grant_type=client_credentials` with an assertion of the machine’s key.',
  ),
  unauthorized: {
    meaning: 'The route needs a token, but the request has none.',
    remedy: 'Send `Authorization: Bearer <token>`; `countersignd token create` creates a token.',
  },
  invalid_client: {
    meaning:
      'The assertion is not valid for the machine account, or the account is suspended. Only from an account server: from `/oauth/token`, and when a machine account signs in or enrols a device.',
    remedy:
      'Check the machine’s key file, the clock, and whether `SVC_PUBLIC_URL` is the public address of the account server.',
  },
  invalid_token: {
    meaning: 'The token is unknown, expired or revoked. The answer does not distinguish these.',
    remedy: 'Create another token. `GET /api/v1/api-tokens` lists the valid tokens.',
  },
  forbidden: {
    meaning:
      'The token is sufficient, but this account may not do this. The account needs another role, does not own the object, or its device waits for approval. Or the request is only for the command line and the console, such as the approval of a device.',
    remedy:
      'The message says who may do it. Ask them, approve the device, or use the command that it names.',
  },
  host_not_allowed: {
    meaning: 'The `Host` header does not name this server, as in a DNS rebinding attack.',
    remedy:
      'Use the address that the daemon prints when it starts. The message lists all addresses.',
  },
  insufficient_user_authentication: {
    meaning: 'A console may do this only shortly after it was opened.',
    remedy: 'Run `countersignd open --full` again, and repeat the request within two minutes.',
  },
  insufficient_scope: {
    meaning: 'The token’s scope is too narrow. `required_scope` names the scope that is needed.',
    remedy: 'Use a token with that scope. Nothing was changed.',
  },
  origin_not_allowed: {
    meaning: 'A browser sent the request for a page of another origin, or to create a token.',
    remedy:
      'Send the request from a program or from this server’s own page. Create tokens with `countersignd token create` or a script.',
  },
  peer_not_allowed: {
    meaning: 'Another user of this machine asked for a token.',
    remedy:
      'Send the request as the daemon’s user, or ask its owner to add you to `SVC_TOKEN_USERS`.',
  },
  no_such_route: {
    meaning: 'The path does not exist.',
    remedy: 'Compare the path with this document. Paths have no slash at the end.',
  },
  not_found: {
    meaning:
      'Nothing in your account has this id. The answer is the same for objects of other accounts.',
    remedy: 'List the objects again. A repeated `DELETE` gets this answer, too.',
  },
  method_not_allowed: {
    meaning: 'The path exists, but does not support this method.',
    remedy: 'Use a method from the `Allow` header.',
  },
  request_timeout: {
    meaning: 'The request did not arrive in time.',
    remedy: 'Send it again, on a new connection.',
  },
  conflict: {
    meaning:
      'The request conflicts with the stored state: a name is taken, a limit is reached, or something else changed at the same time.',
    remedy: 'The message names the conflict. Read the current state, then try again.',
  },
  export_not_ready: {
    meaning: 'The export is still being built, or failed: see `state`.',
    remedy: 'Poll the export until it is `ready`. If it is `failed`, request a new one.',
  },
  no_active_organisation: {
    meaning: 'No organisation is active in this session.',
    remedy: 'Choose one with `POST /api/v1/context/active-org`.',
  },
  in_progress: {
    meaning: 'A request with the same `Idempotency-Key` is still being processed.',
    remedy:
      'Repeat the request after `Retry-After` seconds to get the answer of the first request.',
  },
  invalid_state: {
    meaning: 'The object of the request is in a `state` that does not allow this.',
    remedy:
      '`state` and the message name the missing step. Repeating the request alone does not help.',
  },
  no_device: {
    meaning:
      'The request needs the keys of a device, but the caller has none. It is a `csm_` token, or a device that waits for approval.',
    remedy: 'Use a token of a daemon that is signed in and approved.',
  },
  not_signed_in: {
    meaning: 'This daemon is not signed in.',
    remedy: 'Run `countersignd login`.',
  },
  secret_unavailable: {
    meaning: 'This device does not have the secret that is needed, but another device does.',
    remedy:
      'Sync there, then here (`POST /api/v1/sync`), or use the device that the message names.',
  },
  payload_too_large: {
    meaning: 'The body is larger than the route accepts. The message names the limit.',
    remedy: 'Send less. Stamp large content by its `sha256`.',
  },
  unsupported_media_type: {
    meaning: 'The content type or content encoding of the body is not supported.',
    remedy: 'Send `Content-Type: application/json` and no `Content-Encoding`.',
  },
  expectation_failed: {
    meaning: 'The `Expect` header asks for something that this server does not support.',
    remedy: 'Leave it out, or send `100-continue`.',
  },
  idempotency_mismatch: {
    meaning: 'This `Idempotency-Key` was used for another request within the last 24 hours.',
    remedy: 'Use a new key for every new request.',
  },
  too_long: {
    meaning: 'The purpose of a challenge has more than 64 letters and digits.',
    remedy: 'Shorten it on both sides, for example to the amount and the receiver.',
  },
  unknown_word: {
    meaning: '`word` is not on the word list, so nothing was checked.',
    remedy: 'Ask for the words again. `suggestions` has words that sound or look similar.',
  },
  validation_failed: {
    meaning: 'The request does not match its schema. `issues` lists each fault with its path.',
    remedy: 'Correct the listed faults. Unknown fields are faults, too.',
  },
  word_count: {
    meaning:
      'Three words are needed, or one for a challenge. `found` is the number of words received. Nothing was checked.',
    remedy: 'Send the words in the order in which they were spoken.',
  },
  rate_limited: {
    meaning: 'There were too many attempts or requests in a short time.',
    remedy: 'Wait for the number of seconds in `Retry-After`.',
  },
  headers_too_large: {
    meaning: 'The headers are larger than 16 KiB.',
    remedy: 'Send fewer or shorter headers.',
  },
  internal: {
    meaning: 'An unexpected error occurred in this server.',
    remedy: 'Search the daemon’s log for the `X-Request-Id` of the answer.',
  },
  backend_error: {
    meaning: 'The account server failed or sent an invalid answer, which was not used.',
    remedy: 'Try again later. If the error persists, ask the operator of the server.',
  },
  backend_unavailable: {
    meaning: 'The account server or its database cannot be reached.',
    remedy: 'Check the network and `SVC_BACKEND_URL`, then try again later.',
  },
  keychain_locked: {
    meaning: 'The keychain with this device’s secrets is locked, not available or damaged.',
    remedy: 'Unlock it by logging in to the desktop, then try again.',
  },
  shutting_down: {
    meaning: 'The daemon is shutting down. It completes running requests and accepts no new ones.',
    remedy: 'Try again after the number of seconds in `Retry-After`.',
  },
  backend_timeout: {
    meaning:
      'The account server did not answer in time. It may or may not have processed the request.',
    remedy:
      'Repeat the request, a POST with its `Idempotency-Key`, so that it is processed only once.',
  },
  storage_full: {
    meaning: 'The disk is full, read-only or failing, and nothing was stored.',
    remedy: 'Free some space or check the disk, then try again.',
  },
}

const explained = CODES.map((code) => {
  const { meaning, remedy } = EXPLANATIONS[code]
  return `### ${code} (${statusOf(code)})\n\n${meaning} ${remedy}`
})

/** A section in Markdown that explains how to get a token. */
export const TOKENS = `## Tokens

Routes that are not public need \`Authorization: Bearer <token>\`. \`countersignd token create\` creates a token, or a script with \`POST /api/v1/token\`; a browser may not create tokens,
and neither may the page of this document. A token pasted there under Authentication is sent only to this daemon, and is deleted when the tab is closed or reloaded.`

/**
 * A section in Markdown about all errors.
 *
 * Each error has its own heading, so that the page can link to it.
 */
export const ERRORS = `## Errors

Every error has one shape: \`{"error": "…", "message": "…"}\`. \`error\` is stable and meant for programs. \`message\` is safe to show.
Some errors have another member, which is named below.

${explained.join('\n\n')}`
