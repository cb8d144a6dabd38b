/**
 * The REST document (OpenAPI 3.1): a fold over the table. Nothing is written here that a row or its schemas do not say;
 * a schema with a title becomes a component of that name.
 */
import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import { getTitle } from 'valibot'
import { type Route, type Schema, type Table, isOnce } from './api/route.ts'
import { CODES, type Code, statusOf } from './errors.ts'

type Json = Record<string, unknown>
type Answered = Exclude<Route, { by: 'pending' }>

/** The parts of a schema that lead to other schemas. */
interface Inner {
  readonly entries?: Readonly<Record<string, Schema>>
  readonly item?: Schema
  readonly wrapped?: Schema
  readonly options?: readonly unknown[]
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && 'kind' in value

function collect(schema: Schema, into: Record<string, Schema>): void {
  const title = getTitle(schema)
  if (title !== undefined) into[title] = schema
  const { entries = {}, item, wrapped, options = [] } = schema as unknown as Inner
  for (const inner of [...Object.values(entries), item, wrapped, ...options])
    if (isSchema(inner)) collect(inner, into)
}

const isJson = (reply: Answered['reply']): reply is Schema =>
  reply !== undefined && !('media' in reply)

const schemasOf = (route: Route): Schema[] =>
  route.by === 'pending'
    ? []
    : [route.query, route.body, route.reply].filter((it) => it !== undefined).filter(isSchema)

const CONFIG = {
  target: 'draft-2020-12',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  // A check is a rule that JSON Schema cannot say; its description stands beside it.
  ignoreActions: ['check'],
  // JSON Schema has no flags: it reads every pattern as ECMA-262 with `u`, which is how ours are written.
  overrideAction: ({ valibotAction: action, jsonSchema }) =>
    action.type === 'regex' && 'requirement' in action && action.requirement instanceof RegExp
      ? { ...jsonSchema, pattern: action.requirement.source }
      : undefined,
} as const satisfies ConversionConfig

function converter(definitions: Record<string, Schema>) {
  return (schema: Schema, typeMode: 'input' | 'output'): Json => {
    const {
      $schema: _,
      $defs: __,
      ...rest
    } = toJsonSchema(schema, {
      ...CONFIG,
      definitions,
      typeMode,
    }) as Json
    return rest
  }
}

/** The errors a row may answer with, beside those that any request may meet (`400`, `403`, `500` and the like: `default`). */
function errorCodes(route: Route, need: string): Code[] {
  const codes: Code[] = []
  if (need !== 'none') codes.push('unauthorized')
  if (need === 'write' || need === 'full') codes.push('insufficient_scope')
  if (route.by === 'pending') return [...codes, 'not_implemented']
  if (route.path.includes('{')) codes.push('not_found')
  if (route.query !== undefined || route.body !== undefined) codes.push('validation_failed')
  return codes
}

const errorResponse = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})

const REQUIRED_SCOPE: Readonly<Record<string, string>> = {
  none: 'Public: needs no token.',
  read: 'Needs a token of any scope.',
  write: 'Needs a token of scope `write` or `full`.',
  full: 'Needs a token of scope `full`.',
}

/**
 * Fold a table into its OpenAPI document.
 * @param need what a request of this method and path needs, from the scope table
 */
export function openapiDocument(options: {
  table: Table
  version: string
  need: (method: string, segments: readonly string[]) => string
}): Json & { openapi: string } {
  const { table, version, need } = options
  const definitions: Record<string, Schema> = {}
  for (const routes of Object.values(table))
    for (const route of Object.values(routes))
      for (const schema of schemasOf(route)) collect(schema, definitions)
  const convert = converter(definitions)

  function parameters(route: Route): Json[] {
    const inPath = [...route.path.matchAll(/{(\w+)}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    }))
    const inHeader = isOnce(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []
    if (route.by === 'pending' || route.query === undefined) return [...inPath, ...inHeader]
    const { properties = {} } = convert(route.query, 'input') as {
      properties?: Record<string, Json>
    }
    const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: false,
      ...(description === undefined ? {} : { description }),
      schema,
    }))
    return [...inPath, ...inQuery, ...inHeader]
  }

  function success(route: Answered): Json {
    const status = String(route.status ?? 200)
    if (route.reply === undefined) return { [status]: { description: 'Done; no content.' } }
    const content = isJson(route.reply)
      ? { 'application/json': { schema: convert(route.reply, 'output') } }
      : Object.fromEntries(route.reply.media.map((type) => [type, { schema: { type: 'string' } }]))
    return { [status]: { description: route.summary, content } }
  }

  function operation(group: string, name: string, route: Route, path: string): Json {
    const needed = need(route.method, path.slice(1).split('/'))
    const errors = errorCodes(route, needed).map((code) => [
      String(statusOf(code)),
      errorResponse(`\`${code}\``),
    ])
    const body = route.by === 'pending' ? undefined : route.body
    const given = parameters(route)
    return {
      operationId: path === route.path ? `${group}_${name}` : `${group}_${name}_unversioned`,
      tags: [group],
      summary: route.summary,
      description: REQUIRED_SCOPE[needed],
      ...(needed === 'none' ? { security: [] } : {}),
      ...(given.length === 0 ? {} : { parameters: given }),
      ...(body === undefined
        ? {}
        : {
            requestBody: {
              required: body.type !== 'optional',
              content: { 'application/json': { schema: convert(body, 'input') } },
            },
          }),
      responses: {
        ...(route.by === 'pending' ? {} : success(route)),
        ...Object.fromEntries(errors),
        default: errorResponse('Any other error, in the one shape.'),
      },
    }
  }

  const paths: Record<string, Json> = {}
  for (const [group, routes] of Object.entries(table))
    for (const [name, route] of Object.entries(routes))
      for (const path of route.also === undefined ? [route.path] : [route.path, route.also])
        (paths[path] ??= {})[route.method.toLowerCase()] = operation(group, name, route, path)

  const { $schema: _, ...schemas } = toJsonSchemaDefs(definitions, {
    ...CONFIG,
    typeMode: 'output',
  }) as Json
  return {
    openapi: '3.1.1',
    info: {
      title: 'Countersign',
      version,
      description:
        'The account of this machine over loopback HTTP: three spoken words that prove who is on the line, and stamps that anybody can check.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: 'http://127.0.0.1:19821' }],
    security: [{ bearer: [] }],
    tags: Object.keys(table).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      parameters: { IdempotencyKey },
      schemas: { ...schemas, Error: errorSchema() },
    },
  }
}

const IdempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'The name of this request, of your choice, best a UUID: sent again under it with the same body, it gets the first answer and is done once. Kept 24 hours, per token. ' +
    'Another body: 422 `idempotency_mismatch`; the first one still running: 409 `in_progress`.',
  schema: { type: 'string', minLength: 1, maxLength: 200, pattern: '^[!-~]+$' },
}

const errorSchema = (): Json => ({
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string', description: `Stable. One of: ${CODES.join(', ')}.` },
    message: { type: 'string', description: 'Safe to show; it names the remedy.' },
    required_scope: { type: 'string' },
    issues: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
    state: { type: 'string' },
    found: { type: 'integer' },
    word: { type: 'string' },
    suggestions: { type: 'array', items: { type: 'string' } },
  },
})
