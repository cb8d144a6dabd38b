/** The catalogue of the tools (OpenAPI 3.1), one operation a tool: a fold over the table. */
import type { Route } from '../route.ts'
import { ADDRESS, FRAME, converter, definitionsOf, schemasOf, tagOf } from '../openapi/document.ts'
import { type Folded, type Json } from '../openapi/json-schema.ts'
import type { Example } from '../openapi/examples.ts'
import { codesOf, errorExamples } from '../openapi/errors.ts'
import { errorComponents, responsesOf } from '../openapi/responses.ts'
import { inputOf } from './input.ts'
import { textOf } from './list.ts'
import { type Tool, toolsOf } from './tool.ts'

const NOTHING: Json = {
  description: 'Done.',
  content: {
    'application/json': { schema: { type: 'object', additionalProperties: false }, example: {} },
  },
}

/** A tool that went well answers 200, whatever its row does, and an empty object where the row has nothing to say. */
function answersOf({ status = 200, reply, media }: Route, responses: Json): Json {
  const { [status]: success, ...errors } = responses
  return { 200: reply === undefined && media === undefined ? NOTHING : success, ...errors }
}

/** One object holds what the route takes in path, query and body. */
const shown = (example: Example | undefined) =>
  example === undefined
    ? {}
    : { example: { ...example.params, ...example.query, ...(example.body as object | undefined) } }

/** Fold a table into the catalogue of its tools. */
export function toolCatalogue({
  table,
  version,
  need,
  server = ADDRESS,
  examples = {},
}: Folded): Json & { openapi: string } {
  const tools = toolsOf(table)
  const definitions = definitionsOf(tools.map(({ route }) => route.reply))
  const convert = converter(definitions)

  function operation(tool: Tool): Json {
    const { name, group, row, route } = tool
    const needed = need(route.method, route.path.slice(1).split('/'))
    const example = examples[`${group}_${row}`]
    // A body by reference would be no object that names what is in it.
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
      responses: answersOf(
        route,
        responsesOf(
          { route },
          convert,
          codesOf({ group, name: row, route, need: needed }),
          example,
        ),
      ),
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
        'What a model may do with the account of this machine, one operation a tool; each answers as its route in /api/v1/openapi.json.',
      license,
    },
    servers: [{ url: server }],
    security: [{ bearer: [] }],
    tags: [...new Set(tools.map(({ group }) => group))].map(tagOf),
    paths,
    components: {
      securitySchemes,
      ...errorComponents(paths, errorExamples),
      schemas: schemasOf(definitions),
    },
  }
}
