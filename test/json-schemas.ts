/**
 * The JSON schemas of an OpenAPI document (draft 2020-12), compiled as a client would that has
 * only the document.
 */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'

type Json = Readonly<Record<string, unknown>>

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/**
 * Compiles the schemas of a document.
 * @returns a function that lists the errors of a value by a schema; empty if it is valid
 */
export function schemasOf(document: Json): (schema: unknown, value: unknown) => string[] {
  const ajv = new Ajv2020({
    allErrors: true,
    // A keyword that JSON Schema does not define is an error in the document.
    strictSchema: true,
    formats: { 'date-time': TIMESTAMP, date: true },
  })
  // References are resolved from the root of the document.
  const resolved = (schema: unknown) =>
    JSON.stringify(schema).replaceAll('"#/components/schemas/', '"document#/$defs/')
  const { schemas } = document['components'] as Json
  ajv.addSchema({ $id: 'document', $defs: JSON.parse(resolved(schemas)) as Json })
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>()
  const message = ({ instancePath, message = '' }: ErrorObject) => `${instancePath} ${message}`

  return (schema, value) => {
    const text = resolved(schema)
    let validate = compiled.get(text)
    if (validate === undefined) {
      validate = ajv.compile(JSON.parse(text) as Json)
      compiled.set(text, validate)
    }
    return validate(value) ? [] : (validate.errors ?? []).map(message)
  }
}

/** Yields every value under a name, at any depth. */
export function* under(name: string, value: unknown): Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === name) yield inner
    yield* under(name, inner)
  }
}
