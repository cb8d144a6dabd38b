/**
 * The semantics of an OpenAPI document as a short text, so that a person can read the diff of a
 * golden: each operation in a few lines, then the schemas and the patterns. Texts for people are
 * left out.
 */
import { type Schema, nameOf, schemaWriter } from './schema-text.ts'

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly $ref?: string
    readonly name?: string
    readonly in?: string
    readonly required?: boolean
    readonly schema?: Schema
  }[]
  readonly requestBody?: Content & { readonly required: boolean }
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>
}

/** An OpenAPI document. The names of its error responses have the status and the codes. */
export interface Interface {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** What a reviewer must know of an operation beside its schemas. */
export interface Traits {
  /** The need in the scope table. */
  readonly need: string
  readonly more?: readonly string[]
}

/** Returns the error codes of an operation. */
const codesIn = ({ responses }: Operation): Set<string> =>
  new Set(
    Object.values(responses).flatMap(({ $ref }) =>
      $ref === undefined ? [] : nameOf($ref).split('.').slice(1),
    ),
  )

/** Returns the group of an operation. Nearly all that need `write` have a body, and its errors. */
const groupOf = ({ need, method }: { readonly need: string; readonly method: string }): string =>
  need === 'write' && method === 'GET' ? 'write (GET)' : need

/**
 * Returns the text of a document.
 * @param traitsOf returns the traits of an operation
 * @param schemas the components to list, if not all
 */
export function interfaceText(
  { paths, components }: Interface,
  traitsOf: (operation: { id: string; method: string; path: string }) => Traits,
  schemas = components.schemas,
): string {
  const { text, membersOf, patterns } = schemaWriter()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([key, operation]) => {
      const method = key.toUpperCase()
      const { need, more = [] } = traitsOf({ id: operation.operationId, method, path })
      return { path, method, need, more, operation, codes: codesIn(operation) }
    }),
  )
  const common = new Map(
    [...Map.groupBy(operations, groupOf)].map(([group, same]) => [
      group,
      [...same[0]!.codes].filter((code) => same.every(({ codes }) => codes.has(code))),
    ]),
  )

  const contentOf = ({ content = {} }: Content) =>
    Object.entries(content)
      .map(
        ([type, { schema }]) => `${type === 'application/json' ? '' : `${type} `}${text(schema)}`,
      )
      .join(', ') || 'nothing'

  function linesOf({ path, method, need, more, operation, codes }: (typeof operations)[number]) {
    const { parameters = [], requestBody, responses } = operation
    const headers = parameters.flatMap(({ $ref }) => ($ref === undefined ? [] : [nameOf($ref)]))
    const query = parameters
      .filter((one) => one.in === 'query')
      .map(({ name, required, schema }) => `${name}${required ? '' : '?'}: ${text(schema ?? {})}`)
    const errors = [...codes]
      .filter((code) => common.get(groupOf({ need, method }))?.includes(code) !== true)
      .toSorted()
    return [
      [`${method} ${path}`, need, ...more, ...headers].join('  '),
      ...(query.length === 0 ? [] : [`  query   ${query.join(', ')}`]),
      ...(requestBody === undefined
        ? []
        : [`  body${requestBody.required ? ' ' : '?'}   ${contentOf(requestBody)}`]),
      ...Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .map(([status, answer]) => `  ${status}     ${contentOf(answer)}`),
      ...(errors.length === 0 ? [] : [`  errors  ${errors.join(' ')}`]),
    ]
  }

  const schemaLines = (name: string, schema: Schema) =>
    schema.type === 'object'
      ? [name, ...membersOf(schema).map((member) => `  ${member}`)]
      : [name, `  ${text(schema)}`]

  return [
    'Errors of all operations, by need',
    ...[...common].map(([group, codes]) => `  ${group}: ${codes.toSorted().join(' ')}`),
    ...operations.flatMap((one) => ['', ...linesOf(one)]),
    ...Object.entries(schemas).flatMap(([name, schema]) => ['', ...schemaLines(name, schema)]),
    '',
    ...patterns(),
    '',
  ].join('\n')
}
