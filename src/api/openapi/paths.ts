/** Generates the operations of an OpenAPI document from the rows of a table. */
import { type Route, everyPath, pathNames } from '../route.ts'
import { rowsOf } from '../rows.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Convert, Folded, JsonRecord } from './json-schema.ts'
import type { RowPlace } from './errors.ts'
import type { Example } from './examples.ts'
import { responsesOf } from './responses.ts'

export interface OperationText {
  readonly summary: string
  readonly description: string
}

/** The parts of an OpenAPI document that cannot be derived from its rows. */
export interface Wording {
  readonly textOf: (place: RowPlace) => OperationText
  /**
   * Returns an operation's security requirement; undefined if the document's requirement applies.
   */
  readonly security: (place: RowPlace) => readonly JsonRecord[] | undefined
  /** Returns the header parameters of an operation. */
  readonly headers: (place: RowPlace) => readonly JsonRecord[]
  /** Returns the codes that a row can return, by status. */
  readonly codes: (place: RowPlace) => Map<string, ErrorCode[]>
  /** Whether the document is the daemon's, which marks copies. */
  readonly marksCopies: boolean
}

/** Returns the path and query parameters of a row, with the values of an example. */
function parameters(
  route: Route,
  convert: Convert,
  { params = {}, query = {} }: Example,
): JsonRecord[] {
  const shown = (values: JsonRecord, name: string) =>
    values[name] === undefined ? {} : { example: values[name] }
  const inPath = pathNames(route.path).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...shown(params, name),
  }))
  if (route.query === undefined) return inPath
  const { properties = {}, required = [] } = convert(route.query, 'input') as {
    properties?: Record<string, JsonRecord>
    required?: readonly string[]
  }
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
    ...shown(query, name),
  }))
  return [...inPath, ...inQuery]
}

function operation(
  place: RowPlace,
  path: string,
  convert: Convert,
  wording: Wording,
  example: Example,
): JsonRecord {
  const { group, name, route } = place
  const { body } = route
  const { summary, description } = wording.textOf(place)
  const given = [...parameters(route, convert, example), ...wording.headers(place)]
  const security = wording.security(place)
  return {
    operationId: path === route.path ? `${group}_${name}` : `${group}_${name}_unversioned`,
    tags: [group],
    // In a list, two operations with the same summary could not be distinguished.
    summary: path === route.path ? summary : `${summary} (${path})`,
    description,
    ...(security === undefined ? {} : { security }),
    ...(given.length === 0 ? {} : { parameters: given }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.type !== 'optional',
            content: {
              'application/json': {
                schema: convert(body, 'input'),
                ...(example.body === undefined ? {} : { example: example.body }),
              },
            },
          },
        }),
    responses: responsesOf(route, convert, {
      summary,
      codes: wording.codes(place),
      example,
      marksCopies: wording.marksCopies,
    }),
  }
}

/** Returns the paths of an OpenAPI document: every path of every row, with its method. */
export function pathsOf(
  { table, need, examples = {} }: Pick<Folded, 'table' | 'need' | 'examples'>,
  convert: Convert,
  wording: Wording,
): Record<string, JsonRecord> {
  const paths: Record<string, JsonRecord> = {}
  for (const { group, name, route } of rowsOf(table))
    for (const path of everyPath(route)) {
      const place = { group, name, route, need: need(route.method, path.slice(1).split('/')) }
      const example = examples[`${group}_${name}`] ?? {}
      const made = operation(place, path, convert, wording, example)
      ;(paths[path] ??= {})[route.method.toLowerCase()] = made
    }
  return paths
}
