/**
 * The input of a tool: path parameters, query and body of its row, merged into one object.
 *
 * Models, and the programs that run them, reject a union at the root of a schema. If only one of
 * several members may be given, the descriptions state this and the row checks it.
 */
import { type Route, pathNames } from '../route.ts'
import type { Convert, JsonRecord } from '../openapi/json-schema.ts'
import { ELSEWHERE, idInPath } from './parameters.ts'
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

function pathShape(route: Route): Shape {
  const required = pathNames(route.path)
  const found = required.map(
    (name) => [name, { type: 'string', description: idInPath(route, name)?.description }] as const,
  )
  return { properties: Object.fromEntries(found), required }
}

/** The longest pattern that helps a model, in characters. */
const LONGEST_PATTERN = 60

/**
 * Removes patterns that are long or have Unicode classes from a schema.
 *
 * They do not help a model, and many programs cannot parse Unicode classes.
 */
const legible = (schema: JsonRecord): JsonRecord =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'pattern' &&
    typeof value === 'string' &&
    (value.length > LONGEST_PATTERN || value.includes('\\p{'))
      ? undefined
      : value,
  ) as JsonRecord

/** Returns a schema with changed items and alternatives. */
const withParts = (schema: JsonRecord, change: (part: JsonRecord) => JsonRecord): JsonRecord =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'items') return [key, change(value as JsonRecord)]
      return [key, key === 'anyOf' ? (value as JsonRecord[]).map(change) : value]
    }),
  )

/** Returns a schema without its own description. */
function undescribed(schema: JsonRecord): JsonRecord {
  const { description: _, ...rest } = schema
  return rest
}

/** Returns the schema of an id or a list of ids, without its own descriptions. */
const ofId = (schema: JsonRecord): JsonRecord => withParts(undescribed(schema), ofId)

/** Returns the schema of a parameter, with the descriptions of the ids in its members. */
function withMembers(name: string, schema: JsonRecord): JsonRecord {
  const changed = withParts(schema, (part) => withMembers(name, part))
  const { properties } = changed as { properties?: Readonly<Record<string, JsonRecord>> }
  if (properties === undefined) return changed
  const members = Object.entries(properties).map(([key, member]) => {
    const argument = ELSEWHERE[`${name}.${key}`]
    if (argument === undefined) return [key, member] as const
    return [key, { ...ofId(member), description: argument.description }] as const
  })
  return { ...changed, properties: Object.fromEntries(members) }
}

/** Returns the schema of a query or body parameter, with its description at the top level. */
function parameter(name: string, given: JsonRecord): JsonRecord {
  const schema = withMembers(name, legible(given))
  const argument = ELSEWHERE[name]
  const { description, ...rest } = schema as JsonRecord & { anyOf?: JsonRecord[] }
  if (argument !== undefined) {
    // Models need no other form than a name or an id.
    const id = argument.toValue === undefined ? ofId(rest) : { type: 'string' }
    return { ...id, description: argument.description }
  }
  const text = description ?? rest.anyOf?.find((one) => 'description' in one)?.['description']
  if (text === undefined) return rest
  const { anyOf } = rest
  return { ...rest, ...(anyOf && { anyOf: anyOf.map(undescribed) }), description: text }
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
