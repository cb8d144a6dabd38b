/**
 * The input of a tool: path parameters, query and body of its row, merged into one object.
 *
 * Models, and the programs that run them, reject a union at the root of a schema. If only one of
 * several members may be given, the descriptions state this and the row checks it.
 */
import type { Route } from '../route.ts'
import type { Convert, JsonRecord } from '../openapi/json-schema.ts'
import { ELSEWHERE, IN_PATH } from './parameters.ts'
import type { Tool } from './tool.ts'

/** An object's members in JSON Schema. */
interface Shape {
  readonly properties: Readonly<Record<string, JsonRecord>>
  readonly required: readonly string[]
}

/** Returns the alternative shapes of an object schema. */
function shapesOf(schema: JsonRecord): Shape[] {
  const {
    anyOf,
    properties = {},
    required = [],
  } = schema as Partial<Shape> & { anyOf?: JsonRecord[] }
  return anyOf === undefined ? [{ properties, required }] : anyOf.flatMap(shapesOf)
}

const pathShape = ({ path }: Route): Shape => {
  const found = [...path.matchAll(/\/{(\w+)}/g)].map(({ 1: name, index }) => {
    const description = (IN_PATH as Readonly<Record<string, string>>)[path.slice(0, index)]
    return [name as string, { type: 'string', description }] as const
  })
  return { properties: Object.fromEntries(found), required: found.map(([name]) => name) }
}

/**
 * Removes patterns with Unicode classes from a schema.
 *
 * They do not help a model, and many programs cannot parse them.
 */
const legible = (schema: JsonRecord): JsonRecord =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'pattern' && typeof value === 'string' && value.includes('\\p{') ? undefined : value,
  ) as JsonRecord

/** Returns the schema of a query or body parameter, with its description at the top level. */
function parameter(name: string, schema: JsonRecord): JsonRecord {
  const { description, ...rest } = legible(schema) as JsonRecord & { anyOf?: JsonRecord[] }
  const inner = rest.anyOf?.find((one) => one['description'] !== undefined)?.['description']
  const text = ELSEWHERE[name] ?? description ?? inner
  return text === undefined ? rest : { ...rest, description: text }
}

/**
 * Returns the input of a tool as JSON Schema: one closed object with all parameters.
 * @throws Error if two of the parameters have the same name
 */
export function inputOf({ name, route }: Tool, convert: Convert): JsonRecord {
  const { properties, required } = pathShape(route)
  const merged: Record<string, JsonRecord> = { ...properties }
  const always = [...required]
  for (const schema of [route.query, route.body]) {
    if (schema === undefined) continue
    const shapes = shapesOf(convert(schema, 'input'))
    const { [route.secret ?? '']: _, ...all } = Object.assign(
      {},
      ...shapes.map((shape) => shape.properties),
    ) as Record<string, JsonRecord>
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
