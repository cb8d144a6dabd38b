/** The client of the API, with the types of its document. */
import createClient from 'openapi-fetch'
import type { components, paths } from '../../../dist/api.d.ts'
import { sendWithProof } from '../session/session.ts'

/** The schemas of the API's document, by name. */
export type Schemas = components['schemas']

/** An answer that is an error of the API, or no answer: then the code is `unreachable`. */
export class ApiFailure extends Error {
  readonly code: string
  readonly status: number
  /** The other members of the error. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, { error, message, ...details }: ErrorBody) {
    super(message)
    this.name = 'ApiFailure'
    this.code = error
    this.status = status
    this.details = details
  }
}

interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly [name: string]: unknown
}

const unreachable = (): ApiFailure =>
  new ApiFailure(0, { error: 'unreachable', message: 'The daemon does not answer.' })

/** The routes of the API. An answer has `data` or `error`; `dataOf` returns the first. */
export const api = createClient<paths>({
  baseUrl: location.origin,
  fetch: async (request) => {
    try {
      return await sendWithProof(request)
    } catch {
      throw unreachable()
    }
  },
})

interface Answer {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: Response
}

/**
 * Returns the data of an answer.
 * @throws ApiFailure
 */
export async function dataOf<A extends Answer>(
  asked: Promise<A>,
): Promise<Exclude<A['data'], undefined>> {
  const { data, error, response } = await asked
  if (error !== undefined || !response.ok) throw new ApiFailure(response.status, bodyOf(error))
  return data as Exclude<A['data'], undefined>
}

/** Returns the body of an error. Only a program before the daemon sends another one. */
const bodyOf = (error: unknown): ErrorBody =>
  typeof error === 'object' && error !== null && 'error' in error && 'message' in error
    ? (error as ErrorBody)
    : { error: 'unexpected', message: 'The answer is not one of the daemon.' }

interface ListPage<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
  readonly as_of?: string
}

/** All items of a list; with the time of the copy if they are from the copies of this device. */
export type AllItems<T> = readonly T[] & { readonly as_of?: string }

/** How many items a page of a list has at most. */
export const LARGEST_PAGE = 200

/**
 * Returns all items of a list.
 * @param read reads a page, with these parts of the query
 * @throws ApiFailure
 */
export async function allItems<T>(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<ListPage<T>>,
): Promise<AllItems<T>> {
  const items: T[] = []
  const copies: string[] = []
  let cursor: string | null = null
  do {
    const page: ListPage<T> = await read({
      limit: LARGEST_PAGE,
      ...(cursor === null ? {} : { cursor }),
    })
    items.push(...page.items)
    if (page.as_of !== undefined) copies.push(page.as_of)
    cursor = page.next_cursor
  } while (cursor !== null)
  const [oldest] = copies.toSorted()
  return oldest === undefined ? items : Object.assign(items, { as_of: oldest })
}
