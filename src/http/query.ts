/**
 * The one place where a query string becomes the input of a schema. Strings become numbers and booleans where the schema
 * asks for them; a text that is neither is passed on as it is, so that the schema names the fault.
 */
import type { Schema } from '../api/route.ts'

type Kind = 'number' | 'boolean' | 'array' | 'string'

/** The members that valibot's object, optional and pipe schemas show of themselves. */
interface Shape {
  readonly type: string
  readonly entries?: Readonly<Record<string, Shape>>
  readonly wrapped?: Shape
}

function kindOf(shape: Shape): Kind {
  if (shape.wrapped) return kindOf(shape.wrapped)
  const { type } = shape
  return type === 'number' || type === 'boolean' || type === 'array' ? type : 'string'
}

const NUMBER = /^-?\d{1,15}$/

function convert(kind: Kind, text: string): unknown {
  if (kind === 'number' && NUMBER.test(text)) return Number(text)
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** The input of a schema (an object of scalars and arrays of strings) from a query string. A name given twice is an array. */
export function decodeQuery(schema: Schema, query: string): Record<string, unknown> {
  const { entries = {} } = schema as unknown as Shape
  const input: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  if (query === '') return input
  const all = Map.groupBy(new URLSearchParams(query), ([name]) => name)
  for (const [name, pairs] of all) {
    const values = pairs.map(([, value]) => value)
    const shape = Object.hasOwn(entries, name) ? entries[name] : undefined
    const kind = shape === undefined ? 'string' : kindOf(shape)
    const [first = ''] = values
    input[name] = kind === 'array' || values.length > 1 ? values : convert(kind, first)
  }
  return input
}
