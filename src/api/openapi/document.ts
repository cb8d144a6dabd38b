/**
 * Generates the OpenAPI 3.1 document of a table.
 *
 * Each row contributes a text and an example. Everything else comes from the rows and their
 * schemas. A schema with a title becomes a component of that name.
 */
import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import { getTitle } from 'valibot'
import { type RowSchema, type Table, isOnce } from '../route.ts'
import { REST_GROUPS, restTextOf } from '../rest/texts/index.ts'
import { displayNameOf } from '../rest/texts/text.ts'
import { rowsOf } from '../rows.ts'
import { CODES } from '../../errors.ts'
import { codesOf } from './errors.ts'
import { JSON_ANSWERS } from './json-answers.ts'
import { ERRORS, TOKENS } from './explanations.ts'
import { type Wording, pathsOf } from './paths.ts'
import { errorComponents } from './responses.ts'
import type { Convert, JsonRecord, Folded } from './json-schema.ts'

/** The members of a schema that contain other schemas. */
interface Inner {
  readonly entries?: Readonly<Record<string, RowSchema>>
  readonly item?: RowSchema
  readonly wrapped?: RowSchema
  readonly options?: readonly unknown[]
}

const isSchema = (value: unknown): value is RowSchema =>
  typeof value === 'object' && value !== null && 'kind' in value

function collect(schema: RowSchema, into: Record<string, RowSchema>): void {
  const title = getTitle(schema)
  if (title !== undefined) into[title] = schema
  const { entries = {}, item, wrapped, options = [] } = schema as unknown as Inner
  for (const inner of [...Object.values(entries), item, wrapped, ...options])
    if (isSchema(inner)) collect(inner, into)
}

/** Returns the titled schemas among `schemas` and inside them, by title. */
export function definitionsOf(schemas: readonly unknown[]): Record<string, RowSchema> {
  const definitions: Record<string, RowSchema> = {}
  for (const schema of schemas.filter(isSchema)) collect(schema, definitions)
  return definitions
}

/** Returns the titled schemas in all rows of a table, by title. */
export const definitionsOfTable = (table: Table): Record<string, RowSchema> =>
  definitionsOf(
    rowsOf(table).flatMap(({ route: { path, query, body, reply } }) => [
      query,
      body,
      reply ?? JSON_ANSWERS[path],
    ]),
  )

const CONFIG = {
  target: 'draft-2020-12',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  // JSON Schema cannot express a check. The schema's description states it.
  ignoreActions: ['check'],
  // Patterns in JSON Schema have no flags and are read as ECMA-262 with the flag `u`. All patterns
  // of this project are written for the flag `u`, so only their source is used.
  overrideAction: ({ valibotAction: action, jsonSchema }) =>
    action.type === 'regex' && 'requirement' in action && action.requirement instanceof RegExp
      ? { ...jsonSchema, pattern: action.requirement.source }
      : undefined,
} as const satisfies ConversionConfig

export const converter =
  (definitions: Record<string, RowSchema>): Convert =>
  (schema, typeMode) => {
    const made = toJsonSchema(schema, { ...CONFIG, definitions, typeMode })
    const { $schema: _, $defs: __, ...rest } = made as JsonRecord
    return rest
  }

/**
 * Returns the components of these definitions, and of the error schema.
 * @param inErrors additional members of errors, as JSON Schema
 */
export function schemasOf(
  definitions: Record<string, RowSchema>,
  inErrors: JsonRecord = {},
): JsonRecord {
  const made = toJsonSchemaDefs(definitions, { ...CONFIG, typeMode: 'output' })
  const { $schema: _, ...schemas } = made as JsonRecord
  return { ...schemas, Error: errorSchema(inErrors) }
}

/** The explanation of each need in the scope table, for callers. */
export const NEEDS: Readonly<Record<string, string>> = {
  none: 'Public: needs no token.',
  read: 'Needs a token of any scope.',
  write: 'Needs a token of scope `write` or `full`.',
  full: 'Needs a token of scope `full`.',
}

/** The default address of a daemon. */
export const ADDRESS = 'http://127.0.0.1:19821'

const ABOUT =
  'Gives programs on this machine access to the account over loopback HTTP: three spoken words that prove who is on the line, and stamps that everyone can check.'

/** The members that all OpenAPI documents of the daemon share. */
export const FRAME = {
  openapi: '3.1.1',
  license: { name: 'MIT', identifier: 'MIT' },
  securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
} as const

/** Returns a group's tag for an OpenAPI document, with its description. */
export const groupTag = (group: string) => ({
  name: group,
  'x-displayName': displayNameOf(group),
  description: (REST_GROUPS as Readonly<Record<string, string>>)[group] ?? '',
})

/** Generates the OpenAPI document of a table. */
export function openapiDocument({
  table,
  version,
  need,
  server = ADDRESS,
  examples = {},
}: Folded): JsonRecord & { openapi: string } {
  const definitions = definitionsOfTable(table)
  const wording: Wording = {
    textOf: ({ group, name, need }) => {
      const { summary, description } = restTextOf(group, name)
      return { summary, description: `${description} ${NEEDS[need]}` }
    },
    security: ({ need: needed }) => (needed === 'none' ? [] : undefined),
    headers: ({ route }) => (isOnce(route) ? [KEY] : []),
    codes: (place) => codesOf(place, 'daemon'),
    marksCopies: true,
  }
  const paths = pathsOf({ table, need, examples }, converter(definitions), wording)

  const { openapi, license, securitySchemes } = FRAME
  return {
    openapi,
    info: {
      title: 'Countersign',
      version,
      description: [ABOUT, TOKENS, ERRORS].join('\n\n'),
      license,
    },
    servers: [{ url: server }],
    security: [{ bearer: [] }],
    tags: Object.keys(table).map(groupTag),
    paths,
    components: {
      securitySchemes,
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      ...errorComponents(paths, 'daemon'),
      schemas: schemasOf(definitions),
    },
  }
}

/** A reference to the header parameter `IDEMPOTENCY_KEY`. */
export const KEY: JsonRecord = { $ref: '#/components/parameters/IdempotencyKey' }

export const IDEMPOTENCY_KEY: JsonRecord = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A name for this request that you choose, preferably a UUID. If you send the request again with the same key and the same body, it is not executed again and returns the first answer. Keys are kept for 24 hours, separately for each token. ' +
    'With another body it returns 422 `idempotency_mismatch`; while the first request is still running, 409 `in_progress`.',
  schema: { type: 'string', minLength: 1, maxLength: 200, pattern: '^[!-~]+$' },
}

const errorSchema = (more: JsonRecord): JsonRecord => ({
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string', description: `A stable code. One of: ${CODES.join(', ')}.` },
    message: {
      type: 'string',
      description: 'A text for people, safe to show. It names the remedy.',
    },
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
    ...more,
  },
})
