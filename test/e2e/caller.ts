/** A caller of the API with the means of every script: fetch, a bearer token, JSON. */
import assert from 'node:assert/strict'

export interface Answered<T = Json> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}
// A script sees an answer as the result of JSON.parse.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

/** Sends a request to the API at an address; the body of an empty answer is undefined. */
export async function ask(
  address: string,
  token: string | null,
  request: string,
  body?: unknown,
): Promise<Answered> {
  const [method = '', path = ''] = request.split(' ')
  const answer = await fetch(address + path, {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    body: text === '' ? undefined : (JSON.parse(text) as Json),
  }
}

/** Returns the request for a write under an Idempotency-Key, for `fetch`. */
export const keyedWrite = (token: string, key: string, body: object, method = 'POST') => ({
  method,
  headers: {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
  },
  body: JSON.stringify(body),
})

/**
 * Returns whether an error may pass if the write is repeated under its key: an outage has its own
 * codes.
 */
export const mayPass = (status: number, text: string): boolean =>
  [503, 504].includes(status) || (status === 409 && /"error":"in_progress"/.test(text))

/** Creates a token of some scope, by the public route. */
export async function newToken(
  address: string,
  scope = 'full',
): Promise<{ id: string; token: string }> {
  const { status, body } = await ask(address, null, 'POST /api/v1/token', { name: 'test', scope })
  assert.equal(status, 201)
  return body as { id: string; token: string }
}

/**
 * Returns a function that sends requests with one token; an answer that is not a success fails
 * the test.
 */
export const caller =
  (address: string, token: string) =>
  async (request: string, body?: unknown): Promise<Json> => {
    const answer = await ask(address, token, request, body)
    assert(answer.status < 300, `${request}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

/** Returns every item of a list, page by page. */
export async function listed(
  call: (request: string) => Promise<Json>,
  path: string,
): Promise<Json[]> {
  const items: Json[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Json = await call(
      `GET ${path}?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`,
    )
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}
