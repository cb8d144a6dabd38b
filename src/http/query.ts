/**
 * Converts a query string to the input of a schema.
 *
 * A string becomes a number or a boolean if the schema requires one. Any other text is passed on
 * unchanged, so that the schema reports the error.
 */
import type { RowSchema } from '../api/route.ts'

type Kind = 'number' | 'boolean' | 'array' | 'string'

/** The members of valibot's object, optional and pipe schemas that this file reads. */
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

/**
 * Returns the input of a schema from a query string. A repeated name becomes an array.
 *
 * The schema must be an object of scalars and arrays of strings.
 */
export function decodeQuery(schema: RowSchema, query: string): Record<string, unknown> {
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
