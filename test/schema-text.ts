/**
 * JSON Schema as a short text, so that a person can read the diff of a golden. Every keyword except
 * descriptions and titles is in the text. A keyword that it cannot show is an error.
 *
 *   {name: string(1..200), tags?: Tag[] = [], note: string | null, ...}
 *
 * `{…, ...}` may have further members, `?` is optional, `=` precedes a default.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'

/** A JSON Schema, as the documents of this program contain it. */
export interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly propertyNames?: Schema
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly default?: unknown
  readonly title?: string
  readonly description?: string
}

/** Returns the last part of a reference. */
export const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)

const range = (least: number | undefined, most: number | undefined) =>
  least === undefined && most === undefined ? '' : `${least ?? ''}..${most ?? ''}`

const joined = (parts: readonly string[]) => parts.filter((part) => part !== '').join(' ')

/**
 * Returns a writer of schemas, and the patterns that it met: a text contains a pattern by its
 * name, since one pattern is in many places.
 */
export function schemaWriter() {
  const patterns = new Map<string, string>()

  function patternName(pattern: string): string {
    const name = `/${hash('sha256', pattern).slice(0, 6)}/`
    patterns.set(name, pattern)
    return name
  }

  /** Returns the members of an object, one text each. */
  function membersOf(schema: Schema): string[] {
    const { properties = {}, required = [], propertyNames, additionalProperties = true } = schema
    const members = Object.entries(properties).map(
      ([name, member]) => `${name}${required.includes(name) ? '' : '?'}: ${text(member)}`,
    )
    const others =
      typeof additionalProperties === 'object'
        ? [
            `[${propertyNames === undefined ? '' : text(propertyNames)}]: ${text(additionalProperties)}`,
          ]
        : additionalProperties
          ? ['...']
          : []
    return [...members, ...others]
  }

  function arrayText({ items, prefixItems, minItems, maxItems }: Schema): string {
    if (prefixItems !== undefined) return `[${prefixItems.map(text).join(', ')}]`
    const item = items === undefined ? 'any' : text(items)
    return `${item.includes(' | ') ? `(${item})` : item}[${range(minItems, maxItems)}]`
  }

  function plainText(type: string, schema: Schema): string {
    const { format = '', pattern, minLength, maxLength, minimum, maximum } = schema
    const limits = joined([
      format,
      range(minLength ?? minimum, maxLength ?? maximum),
      pattern === undefined ? '' : patternName(pattern),
    ])
    return limits === '' ? type : `${type}(${limits})`
  }

  /** Returns a schema without its default. */
  function typeText(schema: Schema): string {
    const { $ref, allOf, anyOf, oneOf = anyOf, type = 'any' } = schema
    if ($ref !== undefined) return nameOf($ref)
    if (allOf !== undefined) return allOf.map(text).join(' & ')
    if (oneOf !== undefined) return oneOf.map(text).join(' | ')
    if ('const' in schema) return JSON.stringify(schema.const)
    if (schema.enum !== undefined)
      return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    if (type === 'object') return `{${membersOf(schema).join(', ')}}`
    if (type === 'array') return arrayText(schema)
    return plainText(type, schema)
  }

  function text(schema: Schema): string {
    for (const keyword of Object.keys(schema)) assert(KEYWORDS.has(keyword), keyword)
    const type = typeText(schema)
    return 'default' in schema ? `${type} = ${JSON.stringify(schema.default)}` : type
  }

  return {
    text,
    membersOf,
    /** Returns one line for each pattern so far. */
    patterns: (): string[] =>
      [...patterns].map(([name, pattern]) => `${name} ${pattern}`).toSorted(),
  }
}

const KEYWORDS = new Set([
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'const',
  'enum',
  'type',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'items',
  'prefixItems',
  'properties',
  'propertyNames',
  'required',
  'additionalProperties',
  'default',
  'title',
  'description',
])
