/**
 * Generates input for a schema of the table: a fold over the kinds of schemas that the table
 * uses. An unknown kind ends the run, so that each new kind gets tested.
 */
import fc, { type Arbitrary } from 'fast-check'
import { safeParse } from 'valibot'
import type { RowSchema } from '../../src/api/route.ts'
import { formatId } from '../../src/crypto/encoding/id.ts'
import type { Known } from './fuzz-known.ts'
import { anyText } from './fuzz-mutations.ts'

/** The visible parts of valibot’s schemas and actions. */
interface Shape {
  readonly kind: 'schema' | 'validation' | 'metadata'
  readonly type: string
  readonly pipe?: readonly Shape[]
  readonly entries?: Readonly<Record<string, Shape>>
  readonly wrapped?: Shape
  readonly item?: Shape
  readonly items?: readonly Shape[]
  readonly key?: Shape
  readonly value?: Shape
  readonly options?: readonly unknown[]
  readonly literal?: unknown
  readonly requirement?: unknown
  readonly message?: unknown
}

/**
 * Rules of a pipe that are satisfied by trial: texts and objects that break one are discarded.
 */
const RULES = new Set([
  'check',
  'description',
  'iso_date',
  'iso_timestamp',
  'title',
  'integer',
  'length',
  'max_length',
  'max_value',
  'min_length',
  'min_value',
  'regex',
])

/** Longer lists would test nothing more. */
const MOST_ITEMS = 4
const DAY_MS = 86_400_000

/** Texts of the forms that the table requires, if its patterns cannot generate them. */
const FORMS: Arbitrary<string>[] = [
  fc
    .constantFrom('ada', 'eve', 'carl', 'dora', 'nobody', "o'neil+x", 'a')
    .map((name) => `${name}@example.org`),
  fc
    .integer({ min: -400, max: 400 })
    .map((days) => new Date(Date.now() + days * DAY_MS).toISOString()),
  fc
    .integer({ min: 0, max: 400 })
    .map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)),
  fc.base64String({ maxLength: 400 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  anyText(40).map((text) => text.toWellFormed()),
  fc.lorem({ maxCount: 3 }),
  fc.constantFrom('en', 'de-CH', 'Europe/Zurich', 'text/plain', '+41 44 668 18 00'),
]

const ofId = (known: Known, prefix: string): Arbitrary<string> =>
  fc.nat().map((at) => known.one(prefix, at, unknownId(prefix, at)))

/** Returns an id that no resource has. */
const unknownId = (prefix: string, at: number): string => {
  const bytes = new Uint8Array(16)
  new DataView(bytes.buffer).setUint32(12, at)
  return formatId(prefix, bytes)
}

/** The name under which answers carry the values for a field of this name. */
const ALIASES: Readonly<Record<string, string>> = {
  cursor: 'next_cursor',
  stamp: 'jws',
  entry: 'jws',
  envelopes: 'jws',
  assertion: 'jws',
  client_assertion: 'jws',
  address: 'email',
  to: 'email',
}

/**
 * Returns the values of `source` that the schema accepts; null if they are too rare to wait for.
 */
function fitting(source: Arbitrary<string>, schema: Shape): Arbitrary<string> | null {
  const fits = (text: string) => safeParse(schema as unknown as RowSchema, text).success
  const samples = fc.sample(source, { numRuns: 24, seed: 1 })
  return samples.filter(fits).length >= 6 ? source.filter(fits) : null
}

function patternsOf(actions: readonly Shape[]): Arbitrary<string>[] {
  return actions
    .filter(({ type }) => type === 'regex')
    .flatMap(({ requirement }) => {
      try {
        return [fc.stringMatching(requirement as RegExp, { size: 'small' })]
      } catch {
        // A look-ahead or a Unicode class. The forms above must match it.
        return []
      }
    })
}

/** Cached by their rules: finding a matching source takes most of the time here. */
const texts = new Map<string, Arbitrary<string>>()

/** Generates text by its rules: from its pattern or of a known form. */
function freshText(schema: Shape, actions: readonly Shape[], name: string): Arbitrary<string> {
  const rules = actions.filter(({ kind }) => kind === 'validation')
  const key = rules
    .map(({ type, requirement, message }) => `${type} ${String(requirement)} ${String(message)}`)
    .join()
  let made = texts.get(key)
  if (made === undefined) {
    const fit = [...patternsOf(rules), ...FORMS].flatMap((source) => fitting(source, schema) ?? [])
    if (fit.length === 0) throw new Error(`no text is known that fits ${name}: teach it one`)
    texts.set(key, (made = fc.oneof(...fit)))
  }
  return made
}

/** Generates text by its rules, also from earlier answers. */
function textOf(schema: Shape, actions: readonly Shape[], name: string, known: Known) {
  const [prefix] = actions.flatMap(
    ({ message }) => /begins with (\w+_)\./.exec(String(message))?.[1] ?? [],
  )
  if (prefix !== undefined) return ofId(known, prefix)
  const fits = (text: string) => safeParse(schema as unknown as RowSchema, text).success
  const fresh = freshText(schema, actions, name)
  const reused = fc.tuple(fc.nat(), fresh).map(([at, other]) => {
    const text = known.one(ALIASES[name] ?? name, at, other)
    return fits(text) ? text : other
  })
  return fc.oneof({ weight: 2, arbitrary: fresh }, { weight: 1, arbitrary: reused })
}

function numberOf(actions: readonly Shape[]): Arbitrary<number> {
  const bound = (type: string, usual: number) =>
    (actions.find((one) => one.type === type)?.requirement as number | undefined) ?? usual
  const of = { min: bound('min_value', -1_000_000), max: bound('max_value', 1_000_000) }
  return actions.some(({ type }) => type === 'integer')
    ? fc.integer(of)
    : fc.double({ ...of, noNaN: true })
}

function listLengths(actions: readonly Shape[]): { minLength: number; maxLength: number } {
  const of = (type: string) =>
    actions.find((one) => one.type === type)?.requirement as number | undefined
  const minLength = of('length') ?? of('min_length') ?? 0
  return { minLength, maxLength: of('length') ?? Math.max(minLength, MOST_ITEMS) }
}

function objectOf(entries: Readonly<Record<string, Shape>>, known: Known): Arbitrary<object> {
  const optional = (shape: Shape) => shape.type === 'optional'
  const requiredKeys = Object.keys(entries).filter((key) => !optional(entries[key] as Shape))
  const arbitraries = Object.entries(entries).map(([key, shape]) => [
    key,
    fold(optional(shape) ? (shape.wrapped as Shape) : shape, key, known),
  ])
  const members = Object.fromEntries(arbitraries) as Record<string, Arbitrary<unknown>>
  const required = Object.fromEntries(requiredKeys.map((key) => [key, members[key]!]))
  // With optional members that exclude each other, few requests would have none of them.
  return fc.oneof(fc.record(required), fc.record(members, { requiredKeys }))
}

/** Returns the rules of a pipe, and of the pipes at its start. */
const actionsOf = ({ pipe: [first, ...rest] = [] }: Shape): readonly Shape[] =>
  first === undefined ? [] : [...actionsOf(first), ...rest]

function fold(schema: Shape, name: string, known: Known): Arbitrary<unknown> {
  const actions = actionsOf(schema)
  for (const { type } of actions)
    if (!RULES.has(type)) throw new Error(`${name}: a rule of kind ${type}: teach it to the fuzzer`)
  const inner = (shape: Shape | undefined) => fold(shape as Shape, name, known)
  const { type } = schema
  switch (type) {
    case 'string':
      return textOf(schema, actions, name, known)
    case 'number':
      return numberOf(actions)
    case 'boolean':
      return fc.boolean()
    case 'literal':
      return fc.constant(schema.literal)
    case 'picklist':
      return fc.constantFrom(...(schema.options as readonly unknown[]))
    case 'array':
      return fc.array(inner(schema.item), listLengths(actions))
    case 'tuple':
    case 'loose_tuple':
      return fc.tuple(...(schema.items as readonly Shape[]).map(inner))
    case 'record':
      return fc.dictionary(inner(schema.key) as Arbitrary<string>, inner(schema.value))
    case 'optional':
      return fc.option(inner(schema.wrapped), { nil: undefined })
    case 'nullable':
      return fc.option(inner(schema.wrapped), { nil: null })
    case 'union':
      return fc.oneof(...(schema.options as readonly Shape[]).map(inner))
    case 'object':
    case 'strict_object':
    case 'loose_object': {
      const made = objectOf(schema.entries as Readonly<Record<string, Shape>>, known)
      return actions.some((one) => one.type === 'check')
        ? made.filter((value) => safeParse(schema as unknown as RowSchema, value).success)
        : made
    }
    default:
      throw new Error(`${name}: a schema of kind ${type}: teach it to the fuzzer`)
  }
}

const inputs = new WeakMap<Known, Map<RowSchema, Arbitrary<unknown>>>()

/**
 * Returns a generator of input that a schema accepts.
 * @throws Error for an unknown kind of schema or rule, and for a text without an example
 */
export function inputFor(schema: RowSchema, known: Known): Arbitrary<unknown> {
  const made = inputs.get(known) ?? new Map<RowSchema, Arbitrary<unknown>>()
  inputs.set(known, made)
  let input = made.get(schema)
  if (input === undefined) made.set(schema, (input = fold(schema as unknown as Shape, '', known)))
  return input
}

/**
 * Generates the members of an object that a schema accepts; none if there is no schema or the
 * input is undefined.
 */
export const membersFor = (schema: RowSchema | undefined, known: Known): Arbitrary<object> =>
  schema === undefined
    ? fc.constant({})
    : inputFor(schema, known).map((value) => (value ?? {}) as object)
