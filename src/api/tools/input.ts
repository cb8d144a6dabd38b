/**
 * What a tool takes: parameters of the path, query and body of its row in one object. It is written for models and the programs that
 * run them, which refuse a choice at the root of a schema: of what only one may be given, the descriptions say so, and the row judges.
 */
import type { Route } from '../route.ts'
import type { Convert, Json } from '../openapi/json-schema.ts'
import { ELSEWHERE, IN_PATH } from './parameters.ts'
import type { Tool } from './tool.ts'

/** What an object may have, as JSON Schema says it. */
interface Shape {
  readonly properties: Readonly<Record<string, Json>>
  readonly required: readonly string[]
}

/** The shapes of which an object has one. */
function shapesOf(schema: Json): Shape[] {
  const { anyOf, properties = {}, required = [] } = schema as Partial<Shape> & { anyOf?: Json[] }
  return anyOf === undefined ? [{ properties, required }] : anyOf.flatMap(shapesOf)
}

const pathShape = ({ path }: Route): Shape => {
  const found = [...path.matchAll(/\/{(\w+)}/g)].map(({ 1: name, index }) => {
    const description = (IN_PATH as Readonly<Record<string, string>>)[path.slice(0, index)]
    return [name as string, { type: 'string', description }] as const
  })
  return { properties: Object.fromEntries(found), required: found.map(([name]) => name) }
}

/** Without the patterns of text that people read: they tell a model nothing, and many programs cannot read them. */
const legible = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'pattern' && typeof value === 'string' && value.includes('\\p{') ? undefined : value,
  ) as Json

/** A parameter of the query or the body, described where a reader looks first. */
function parameter(name: string, schema: Json): Json {
  const { description, ...rest } = legible(schema) as Json & { anyOf?: Json[] }
  const inner = rest.anyOf?.find((one) => one['description'] !== undefined)?.['description']
  const told = ELSEWHERE[name] ?? description ?? inner
  return told === undefined ? rest : { ...rest, description: told }
}

/**
 * What a tool takes, as JSON Schema: parameters of the path, query and body in one closed object.
 * @throws Error where two of them have a name in common
 */
export function inputOf({ name, route }: Tool, convert: Convert): Json {
  const { properties, required } = pathShape(route)
  const merged: Record<string, Json> = { ...properties }
  const always = [...required]
  for (const schema of [route.query, route.body]) {
    if (schema === undefined) continue
    const shapes = shapesOf(convert(schema, 'input'))
    const { [route.secret ?? '']: _, ...all } = Object.assign(
      {},
      ...shapes.map((shape) => shape.properties),
    ) as Record<string, Json>
    for (const [key, value] of Object.entries(all)) {
      if (key in merged) throw new Error(`${name} takes ${key} twice`)
      merged[key] = parameter(key, value)
    }
    always.push(
      ...Object.keys(all).filter((key) => shapes.every((it) => it.required.includes(key))),
    )
  }
  return {
    type: 'object',
    properties: merged,
    ...(always.length === 0 ? {} : { required: always }),
    additionalProperties: false,
  }
}
