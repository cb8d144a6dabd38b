/**
 * Six mistakes that must not compile; `tsc` fails here if one does.
 * `mistakes.test.ts` removes the expectations and counts the errors. Each mistake is on the one
 * line below its expectation.
 */
import { Page } from '../../src/api/fields.ts'
import { Health } from '../../src/api/rest/health.ts'
import type { Answers, Calls, Route, Table } from '../../src/api/route.ts'

const table = {
  things: {
    read: { method: 'GET', path: '/things/{id}', by: 'daemon', reply: Health },
    list: { method: 'GET', path: '/things', by: 'both', query: Page, reply: Health },
    theirs: { method: 'GET', path: '/theirs', by: 'account', reply: Health },
    delete: { method: 'DELETE', path: '/things/{id}', by: 'daemon', status: 204 },
  },
} as const satisfies Table

type Handlers = Answers<typeof table, 'daemon' | 'both', null>
type Things = Handlers['things']

const reply = { status: 'ok', version: '1', uptime_s: 0 } as const

/** Compiles: it has no mistake. */
export const right: Handlers = {
  things: {
    read: async ({ id }) => ({ ...reply, version: id }),
    list: async ({ limit }) => ({ ...reply, uptime_s: limit }),
    delete: async () => undefined,
  },
}
const { read, list, delete: remove } = right.things

// @ts-expect-error 1: an answer is missing
export const missing: Things = { read, list }

// @ts-expect-error 2: a handler on a row that the account answers
export const notOurs: Things = { read, list, delete: remove, theirs: async () => reply }

// @ts-expect-error 3: a wrong reply
export const wrongReply: Things['read'] = async () => ({ ...reply, uptime_s: '0' })

// @ts-expect-error 4: a path parameter that the path does not have
export const wrongParameter: Things['read'] = async ({ name }) => ({ ...reply, version: name })

// @ts-expect-error 5: a row without an answer
export const unanswered: Route = { method: 'GET', path: '/later', by: 'pending' }

// @ts-expect-error 6: an error code that does not exist
export const unknownCode: Route['errors'] = ['no_such_code']

declare const calls: Calls<typeof table, 'account' | 'both'>
/** A caller may omit inputs that have defaults. */
export const called = () => [calls.things.list({}), calls.things.theirs({})]
