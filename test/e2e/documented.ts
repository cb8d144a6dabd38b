/**
 * A client built from the REST document of a running daemon alone: it calls by operation, and
 * checks every answer against the document.
 */
import assert from 'node:assert/strict'
import { type Answer, type TestDaemon, ask } from '../daemon.ts'
import { schemasOf } from '../json-schemas.ts'
import type { Json } from './caller.ts'

type Content = Readonly<Record<string, { readonly schema: unknown }>>

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly isPublic: boolean
  readonly takesBody: boolean
  /** By status; `default` for all others. */
  readonly responses: Readonly<
    Record<string, { readonly content?: Content; readonly $ref?: string }>
  >
}

/** The caller and the daemon of a request. */
export interface Asker {
  readonly daemon: Pick<TestDaemon, 'address'>
  readonly token: string | undefined
}

export interface Call {
  /** The parameters in the path. */
  readonly params?: Readonly<Record<string, string>>
  /** With its question mark. */
  readonly query?: string
  readonly body?: unknown
  /** Makes this call the operation’s example in the document; by default it is the first one. */
  readonly shown?: true
}

/** A successful call, as the document shows it. */
export interface Recorded {
  readonly id: string
  readonly call: Call
  /** Undefined if there was no body. */
  readonly type: string | undefined
  readonly reply: unknown
}

export interface Documented {
  readonly text: string
  readonly operations: readonly Operation[]
  /** Sends a request that must succeed; returns the body, undefined if it is not JSON. */
  readonly call: (asker: Asker, id: string, call?: Call) => Promise<Json>
  /**
   * Sends a request that must fail with this status and the common error shape. Returns the
   * error.
   */
  readonly refused: (asker: Asker, id: string, status: number, call?: Call) => Promise<Json>
  /** Checks an error against the common shape, and against the errors of its operation. */
  readonly assertError: (answer: Answer, what: string, operation?: Operation) => Json
  /** Returns the operations without a successful call. */
  readonly unvisited: () => string[]
  /** Returns one call for each operation that succeeded, in the order of the document. */
  readonly recorded: () => Recorded[]
}

const METHODS = ['get', 'post', 'patch', 'delete']

function operationsOf(document: Json): Operation[] {
  return Object.entries(document.paths as Record<string, Json>).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Json>).map(([method, it]) => {
      assert(METHODS.includes(method), method)
      return {
        id: it.operationId as string,
        method: method.toUpperCase(),
        path,
        isPublic: it.security?.length === 0,
        takesBody: it.requestBody !== undefined,
        responses: it.responses as Operation['responses'],
      }
    }),
  )
}

/** Reads the document of a daemon, which is public. */
export async function documentOf(daemon: Pick<TestDaemon, 'address'>): Promise<Documented> {
  const { status, text, json } = await ask(daemon.address, 'GET', '/api/v1/openapi.json')
  assert.equal(status, 200, text)
  const document = json as Json
  const operations = operationsOf(document)
  const faults = schemasOf(document)
  const visited = new Map<string, Recorded>()
  const known = new Map(operations.map((one) => [one.id, one]))

  async function send(
    { daemon: at, token }: Asker,
    id: string,
    { params = {}, query, body }: Call,
  ) {
    const operation = known.get(id) ?? assert.fail(`the document has no ${id}`)
    const path = operation.path.replace(
      /{(\w+)}/g,
      (_, name: string) => params[name] ?? assert.fail(`${id} needs ${name}`),
    )
    const answer = await ask(at.address, operation.method, path + (query ?? ''), { token, body })
    return {
      operation,
      answer,
      what: `${operation.method} ${path}: ${answer.status} ${answer.text}`,
    }
  }

  /** Checks that an answer has a documented media type and is valid by its schema. */
  function assertContent(
    content: Content | undefined,
    { headers, text: body, json: value }: Answer,
    what: string,
  ) {
    const type = headers['content-type']
    if (content === undefined) {
      assert.deepEqual([type, body], [undefined, ''], what)
      return
    }
    const described = content[type ?? ''] ?? assert.fail(`${type} is not in the document: ${what}`)
    if (type === 'application/json') assert.deepEqual(faults(described.schema, value), [], what)
  }

  function assertError(answer: Answer, what: string, operation?: Operation): Json {
    assert(answer.status >= 400, what)
    assert.equal(answer.headers['content-type'], 'application/json', what)
    const error = document.components.schemas.Error as Json
    assert.deepEqual(faults({ $ref: '#/components/schemas/Error' }, answer.json), [], what)
    const { error: code, message } = answer.json as { error: string; message: string }
    const codes = new Set((error.properties.error.description as string).split(/[^a-z_]+/))
    assert(codes.has(code), `${code} is no code of the document: ${what}`)
    assert(message.length > 0, what)
    if (operation !== undefined) {
      const { $ref = '' } = operation.responses[answer.status] ?? operation.responses['default']!
      const response = document.components.responses[$ref.split('/').at(-1) as string]
      assert(
        code in response.content['application/json'].examples,
        `${operation.id} does not say ${code}: ${what}`,
      )
    }
    return answer.json as Json
  }

  return {
    text,
    operations,
    assertError,
    async call(asker, id, call = {}) {
      const { operation, answer, what } = await send(asker, id, call)
      const [good] = Object.keys(operation.responses).filter((one) => /^2\d\d$/.test(one))
      assert.equal(String(answer.status), good, what)
      assertContent(operation.responses[good as string]?.content, answer, what)
      if (!visited.has(id) || call.shown === true)
        visited.set(id, {
          id,
          call,
          type: answer.headers['content-type'],
          reply: answer.json ?? answer.text,
        })
      return answer.json
    },
    async refused(asker, id, status, call = {}) {
      const { operation, answer, what } = await send(asker, id, call)
      assert.equal(answer.status, status, what)
      return assertError(answer, what, operation)
    },
    unvisited: () => operations.map(({ id }) => id).filter((id) => !visited.has(id)),
    recorded: () => operations.flatMap(({ id }) => visited.get(id) ?? []),
  }
}
