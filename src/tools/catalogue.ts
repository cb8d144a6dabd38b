/** The catalogue of the tools (OpenAPI 3.1), one operation a tool: a fold over the table. */
import {
  FRAME,
  type Folded,
  type Json,
  NEEDS,
  converter,
  definitionsOf,
  responsesOf,
  schemasOf,
} from '../openapi.ts'
import { inputOf } from './input.ts'
import { type Tool, toolsOf } from './tool.ts'

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
