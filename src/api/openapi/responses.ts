/** What may be answered to a row, as a document says it: the success with its example, and every error. */
import type { Route } from '../route.ts'
import type { Code } from '../../errors.ts'
import type { Convert, Json } from './json-schema.ts'
import type { ErrorExamples, Place } from './errors.ts'
import type { Example } from './examples.ts'

/** An error answer with an example of each code that it may have. */
const errorResponse = (codes: readonly Code[], description: string) => ({
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

const OTHER = 'Any other error, in the one shape. Any request may meet those that are shown.'

const PREFIX = '#/components/responses/'

/** Many rows may answer the same errors: each set of codes is one component, named by its status and them. */
const errorsOf = (byStatus: ReadonlyMap<string, readonly Code[]>): Json =>
  Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      { $ref: PREFIX + [status, ...codes].join('.') },
    ]),
  )

/** The components that these paths refer to for their errors, with an example of each code. */
export function errorComponents(paths: object, examplesOf: ErrorExamples): Json {
  const refs = new Set(JSON.stringify(paths).match(/#\/components\/responses\/[\w.]+/g))
  const sets = [...refs].toSorted().map((ref) => {
    const name = ref.slice(PREFIX.length)
    const [status, ...codes] = name.split('.') as [string, ...Code[]]
    const told = status === 'default' ? OTHER : codes.map((code) => `\`${code}\``).join(', ')
    return { name, codes, response: errorResponse(codes, told) }
  })
  return {
    responses: Object.fromEntries(sets.map(({ name, response }) => [name, response])),
    examples: examplesOf(new Set(sets.flatMap(({ codes }) => codes))),
  }
}

/** What comes as JSON from elsewhere has whatever shape it has there. */
const mediaSchema = (type: string): Json => (type === 'application/json' ? {} : { type: 'string' })

function success(route: Route, convert: Convert, { type, reply }: Example): Json {
  const status = String(route.status ?? 200)
  if (route.reply === undefined && route.media === undefined)
    return { [status]: { description: 'Done; no content.' } }
  const schemas: [type: string, schema: Json][] =
    route.reply === undefined
      ? (route.media ?? []).map((one) => [one, mediaSchema(one)])
      : [['application/json', convert(route.reply, 'output')]]
  const content = schemas.map(([one, schema]) => [
    one,
    { schema, ...(one === type ? { example: reply } : {}) },
  ])
  return { [status]: { description: route.summary, content: Object.fromEntries(content) as Json } }
}

/** All that may be answered to a row, by status; `codes` are those of its errors. */
export const responsesOf = (
  { route }: Pick<Place, 'route'>,
  convert: Convert,
  codes: ReadonlyMap<string, readonly Code[]>,
  example: Example = {},
): Json => ({ ...success(route, convert, example), ...errorsOf(codes) })
