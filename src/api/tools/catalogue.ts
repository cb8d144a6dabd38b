/** Generates the catalogue of tools (OpenAPI 3.1) from a table, with one operation per tool. */
import type { Route } from '../route.ts'
import {
  ADDRESS,
  FRAME,
  converter,
  definitionsOf,
  schemasOf,
  groupTag,
} from '../openapi/document.ts'
import { type Folded, type JsonRecord } from '../openapi/json-schema.ts'
import type { Example } from '../openapi/examples.ts'
import { codesOf } from '../openapi/errors.ts'
import { errorComponents, responsesOf } from '../openapi/responses.ts'
import { restTextOf } from '../rest/texts/index.ts'
import { inputOf } from './input.ts'
import { textOf } from './list.ts'
import { idsOf } from './parameters.ts'
import { type Tool, toolsOf } from './tool.ts'

const NOTHING: JsonRecord = {
  description: 'Done.',
  content: {
    'application/json': { schema: { type: 'object', additionalProperties: false }, example: {} },
  },
}

/**
 * Returns the responses of a tool.
 *
 * The status of a success is always 200. If the row has no reply, the content is an empty object.
 */
function answersOf({ status = 200, reply, media }: Route, responses: JsonRecord): JsonRecord {
  const { [status]: success, ...errors } = responses
  return { 200: reply === undefined && media === undefined ? NOTHING : success, ...errors }
}

/** Returns the row of a tool, with the errors about names in its arguments. */
const withNameErrors = (route: Route): Route =>
  idsOf(route).every(({ argument }) => argument.takes === null)
    ? route
    : { ...route, errors: [...(route.errors ?? []), 'not_found', 'conflict'] }

/** Returns an example of a tool's input: path parameters, query and body in one object. */
const shown = (example: Example | undefined) =>
  example === undefined
    ? {}
    : { example: { ...example.params, ...example.query, ...(example.body as object | undefined) } }

/** Generates the tool catalogue of a table. */
export function toolCatalogue({
  table,
  version,
  need,
  server = ADDRESS,
  examples = {},
}: Folded): JsonRecord & { openapi: string } {
  const tools = toolsOf(table)
  const definitions = definitionsOf(tools.map(({ route }) => route.reply))
  const convert = converter(definitions)

  function operation(tool: Tool): JsonRecord {
    const { name, group, row, route } = tool
    const needed = need(route.method, route.path.slice(1).split('/'))
    const example = examples[`${group}_${row}`]
    const answers = {
      summary: restTextOf(group, row).summary,
      codes: codesOf({ route: withNameErrors(route), need: needed }, 'daemon'),
      example,
      marksCopies: true,
    }
    // The schema is written out, because a reference would not show its members.
    const schema = inputOf(tool, converter({}))
    const { title, description } = textOf(tool, need)
    return {
      operationId: name,
      tags: [group],
      summary: title,
      description,
      requestBody: {
        required:
          'required' in schema || (route.body !== undefined && route.body.type !== 'optional'),
        content: { 'application/json': { schema, ...shown(example) } },
      },
      responses: answersOf(route, responsesOf(route, convert, answers)),
    }
  }

  const paths = Object.fromEntries(
    tools.map((tool) => [`/api/v1/tools/${tool.name}`, { post: operation(tool) }]),
  )
  const { openapi, license, securitySchemes } = FRAME
  return {
    openapi,
    info: {
      title: 'Countersign tools',
      version,
      description:
        'What a model may do with the account of this machine. Each tool is one operation and returns the answer of its route in /api/v1/openapi.json.',
      license,
    },
    servers: [{ url: server }],
    security: [{ bearer: [] }],
    tags: [...new Set(tools.map(({ group }) => group))].map(groupTag),
    paths,
    components: {
      securitySchemes,
      ...errorComponents(paths, 'daemon'),
      schemas: schemasOf(definitions),
    },
  }
}
