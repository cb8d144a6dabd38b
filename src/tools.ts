/**
 * The tools: rows of the table as calls that take one object, and their catalogue (OpenAPI 3.1), one operation a tool. Nothing is
 * written here that a row or its schemas do not say, but which rows are none.
 */
import type { Route, Table } from './api/route.ts'
import {
  type Convert,
  FRAME,
  type Folded,
  type Json,
  NEEDS,
  converter,
  definitionsOf,
  responsesOf,
  schemasOf,
} from './openapi.ts'

export interface Tool {
  /** `group_row` in snake case, such as `org_members_bulk_invite`. */
  readonly name: string
  /** The row that it calls. */
  readonly group: string
  readonly row: string
  readonly route: Route
}

/**
 * What is for programs that read documents, for whoever has no token yet, or, as the end of the account, for nobody who acts on
 * another's behalf: it cannot be taken back, and nothing on the wire asks twice.
 */
const NO_TOOLS = new Set(['health', 'token', 'openapi', 'docs', 'tools', 'account'])

const snakeCase = (text: string) => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The tools of a table, in its order. */
export const toolsOf = (table: Table): Tool[] =>
  Object.entries(table)
    .filter(([group]) => !NO_TOOLS.has(group))
    .flatMap(([group, routes]) =>
      Object.entries(routes).map(([row, route]) => ({
        name: snakeCase(`${group}_${row}`),
        group,
        row,
        route,
      })),
    )

/** What an object may have, as JSON Schema says it. */
interface Shape {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: readonly string[]
}

/** The shapes of which an object has one. */
function shapesOf(schema: Json): Shape[] {
  const { anyOf, properties = {}, required = [] } = schema as Partial<Shape> & { anyOf?: Json[] }
  return anyOf === undefined ? [{ properties, required }] : anyOf.flatMap(shapesOf)
}

const pathShape = ({ path }: Route): Shape => {
  const names = [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name as string)
  const description = `As in ${path}.`
  return {
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string', description }])),
    required: names,
  }
}

/**
 * What a tool takes, as JSON Schema: parameters of the path, query and body in one closed object.
 * @throws Error where two of them have a name in common
 */
export function inputOf({ name, route }: Tool, convert: Convert): Json {
  const merged: Record<string, unknown> = {}
  const always: string[] = []
  let choice: readonly Shape[] = []
  const parts = [route.query, route.body]
    .filter((schema) => schema !== undefined)
    .map((schema) => shapesOf(convert(schema, 'input')))
  for (const shapes of [[pathShape(route)], ...parts]) {
    const properties = Object.assign({}, ...shapes.map((shape) => shape.properties)) as object
    const twice = Object.keys(properties).find((key) => key in merged)
    if (twice !== undefined) throw new Error(`${name} takes ${twice} twice`)
    Object.assign(merged, properties)
    always.push(
      ...shapes[0]!.required.filter((key) => shapes.every((it) => it.required.includes(key))),
    )
    if (shapes.length > 1) choice = shapes
  }
  return {
    type: 'object',
    properties: merged,
    ...(always.length === 0 ? {} : { required: always }),
    // Either of what only one of the shapes asks for, and not both.
    ...(choice.length === 0
      ? {}
      : {
          oneOf: choice.map(({ required }) => ({
            required: required.filter((key) => !always.includes(key)),
          })),
        }),
    additionalProperties: false,
  }
}

/** Fold a table into the catalogue of its tools. */
export function toolCatalogue({ table, version, need }: Folded): Json & { openapi: string } {
  const tools = toolsOf(table)
  const definitions = definitionsOf(tools.map(({ route }) => route.reply))
  const convert = converter(definitions)

  function operation(tool: Tool): Json {
    const { name, group, route } = tool
    const needed = need(route.method, route.path.slice(1).split('/'))
    // A body by reference would be no object that names what is in it.
    const schema = inputOf(tool, converter({}))
    return {
      operationId: name,
      tags: [group],
      summary: route.summary,
      description: `${route.summary}. ${NEEDS[needed]}`,
      requestBody: {
        required:
          'required' in schema || (route.body !== undefined && route.body.type !== 'optional'),
        content: { 'application/json': { schema } },
      },
      responses: responsesOf(route, needed, convert),
    }
  }

  const { openapi, license, servers, securitySchemes } = FRAME
  return {
    openapi,
    info: {
      title: 'Countersign tools',
      version,
      description:
        'What a model may do with the account of this machine, one operation a tool; each answers as its route in /api/v1/openapi.json.',
      license,
    },
    servers,
    security: [{ bearer: [] }],
    tags: [...new Set(tools.map(({ group }) => group))].map((name) => ({ name })),
    paths: Object.fromEntries(
      tools.map((tool) => [`/api/v1/tools/${tool.name}`, { post: operation(tool) }]),
    ),
    components: { securitySchemes, schemas: schemasOf(definitions) },
  }
}
