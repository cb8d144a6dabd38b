/** The texts of schemas in goldens: every keyword that a caller can notice is in them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Schema, schemaWriter } from './schema-text.ts'

/** The text of a schema, and the patterns in it. */
function textOf(schema: Schema): string {
  const { text, patterns } = schemaWriter()
  return [text(schema), ...patterns()].join('\n')
}

const text = {
  type: 'string',
  format: 'date',
  minLength: 1,
  maxLength: 9,
  pattern: '^x',
  default: 'x',
}
const whole = {
  type: 'object',
  properties: {
    text,
    number: { type: 'integer', minimum: 1, maximum: 9 },
    list: { type: 'array', minItems: 1, maxItems: 9, items: { enum: ['a', 'b'] } },
    pair: { type: 'array', prefixItems: [{ const: 1 }, { const: 2 }] },
    choice: { anyOf: [{ $ref: '#/components/schemas/Tag' }, { type: 'null' }] },
    either: { oneOf: [{ type: 'string' }, { type: 'null' }] },
    map: { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: { const: true } },
  },
  required: ['text'],
  additionalProperties: false,
}

/** Returns the schema without one keyword, for each keyword at any depth. */
function* withoutOne(value: unknown, path = ''): Generator<[path: string, without: unknown]> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const at = `${path}/${key}`
    if (!Array.isArray(value)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>
      yield [at, rest]
    }
    for (const [deeper, changed] of withoutOne(inner, at))
      yield [
        deeper,
        Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed },
      ]
  }
}

describe('the text of a schema', () => {
  for (const [path, without] of withoutOne(whole))
    it(`is another one without ${path}`, () => {
      assert.notEqual(textOf(without as Schema), textOf(whole))
    })

  it('fails for an unknown keyword', () => {
    assert.throws(() => textOf({ ...text, multipleOf: 2 } as Schema), /multipleOf/)
  })
})
