/** Generates the responses of a row for an OpenAPI document: the success and every error. */
import { Time } from '../fields.ts'
import type { Route } from '../route.ts'
import { JSON_ANSWERS } from './json-answers.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Convert, JsonRecord } from './json-schema.ts'
import { errorExamples } from './error-examples.ts'
import type { Server } from './errors.ts'
import type { Example } from './examples.ts'

/** Returns an error response with an example of each of its codes. */
const errorResponse = (codes: readonly ErrorCode[], description: string) => ({
  description,
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(
        codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
      ),
    },
  },
})

const OTHER =
  'Any other error, in the same form. Any request can get the errors that are shown here.'

const PREFIX = '#/components/responses/'

/**
 * Returns references to error responses, by status.
 *
 * Many rows have the same errors, so each set of codes is one component. Its name consists of the
 * status and the codes.
 */
const errorsOf = (byStatus: ReadonlyMap<string, readonly ErrorCode[]>): JsonRecord =>
  Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      { $ref: PREFIX + [status, ...codes].join('.') },
    ]),
  )

/** Returns the error components that `paths` refers to, with an example of each code. */
export function errorComponents(paths: object, server: Server): JsonRecord {
  const refs = new Set(JSON.stringify(paths).match(/#\/components\/responses\/[\w.]+/g))
  const sets = [...refs].toSorted().map((ref) => {
    const name = ref.slice(PREFIX.length)
    const [status, ...codes] = name.split('.') as [string, ...ErrorCode[]]
    const description = status === 'default' ? OTHER : codes.map((code) => `\`${code}\``).join(', ')
    return { name, codes, response: errorResponse(codes, description) }
  })
  return {
    responses: Object.fromEntries(sets.map(({ name, response }) => [name, response])),
    examples: errorExamples(new Set(sets.flatMap(({ codes }) => codes)), server),
  }
}

/** Returns the schema of a row with `media`. JSON that comes from other systems has any form. */
function mediaSchema(type: string, { path }: Route, convert: Convert): JsonRecord {
  if (type !== 'application/json') return { type: 'string' }
  const json = JSON_ANSWERS[path]
  return json === undefined ? {} : convert(json, 'output')
}

/** What a row's responses need besides the row itself. */
interface Answers {
  /** The description of the success response. */
  readonly summary: string
  /** The error codes by status. */
  readonly codes: ReadonlyMap<string, readonly ErrorCode[]>
  readonly example?: Example | undefined
  /** Whether the daemon answers, and marks the copies with which it answers. */
  readonly marksCopies?: boolean
}

const AS_OF =
  'Present if the account server did not answer: the time of the copy on this device that was used instead.'

/** Returns the schema of an answer that may be a copy. */
function withAsOf(schema: JsonRecord, convert: Convert): JsonRecord {
  const as_of = { ...convert(Time, 'output'), description: AS_OF }
  return '$ref' in schema
    ? { allOf: [schema, { type: 'object', properties: { as_of } }] }
    : { ...schema, properties: { ...(schema['properties'] as JsonRecord), as_of } }
}

function success(
  route: Route,
  convert: Convert,
  { summary, example: { type, reply } = {}, marksCopies = false }: Answers,
): JsonRecord {
  const status = String(route.status ?? 200)
  if (route.reply === undefined && route.media === undefined)
    return { [status]: { description: 'Done; no content.' } }
  const schemas: [type: string, schema: JsonRecord][] =
    route.reply === undefined
      ? (route.media ?? []).map((one) => [one, mediaSchema(one, route, convert)])
      : [['application/json', convert(route.reply, 'output')]]
  const isMarked = marksCopies && route.copied === true
  const content = schemas.map(([one, schema]) => [
    one,
    {
      schema: isMarked ? withAsOf(schema, convert) : schema,
      ...(one === type ? { example: reply } : {}),
    },
  ])
  return {
    [status]: { description: summary, content: Object.fromEntries(content) as JsonRecord },
  }
}

/** Returns all responses of a row, by status. */
export const responsesOf = (route: Route, convert: Convert, answers: Answers): JsonRecord => ({
  ...success(route, convert, answers),
  ...errorsOf(answers.codes),
})
