/** What a tool takes: parameters of the path, query and body of its row in one object. */
import type { Route } from '../api/route.ts'
import type { Convert, Json } from '../openapi.ts'
import type { Tool } from './tool.ts'

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
