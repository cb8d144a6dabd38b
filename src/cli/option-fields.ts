/** Options that set the fields of a request. If an option is not given, its field is absent. */
import type { Reference } from '../api/naming/kinds.ts'
import { type CommandOptions, type Invocation, UsageError } from './command.ts'
import { shown } from './table.ts'

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

/**
 * Returns the number of seconds in a duration such as `90`, `15m` or `30d`.
 * @throws UsageError
 */
export function parseSeconds(option: string, text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})([smhdw])?$/.exec(text) ?? []
  if (count === undefined)
    throw new UsageError(
      `--${option} must be a duration such as 90s, 15m, 12h, 30d or 2w, not "${text}".`,
    )
  return Number(count) * (SECONDS[unit] as number)
}

/**
 * Parses the value of `--limit`, a whole number from 1 to 999999.
 * @throws UsageError
 */
export function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new UsageError(`--limit must be a number from 1 to 999999, not "${shown(text)}".`)
  return Number(text)
}

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const

/** Returns a duration in the longest unit in which it is a whole number. */
export function span(secondsLong: number): string {
  const [length, unit] = UNITS.find(([length]) => secondsLong % length === 0) ?? UNITS[3]
  return `${secondsLong / length}${unit}`
}

type Given = Invocation['options']

/** A field of a request, and the options that set it. */
interface OptionField<T> {
  readonly options: CommandOptions
  /**
   * Returns the value of the field; undefined if none of the options was given.
   * @throws UsageError and the errors of the parser
   */
  readonly read: (given: Given) => T | undefined
}

/** Fields by their names in the request. */
export type OptionFields = Readonly<Record<string, OptionField<unknown>>>

/**
 * The values of fields, read from the options of a command. A field is absent if none of its
 * options was given.
 */
export type FieldValues<Fields extends OptionFields> = {
  [Name in keyof Fields]?: Fields[Name] extends OptionField<infer T> ? T : never
}

/** Returns a field with the text of an option. The account server validates the text. */
export function textField<T extends string = string>(option: string): OptionField<T>
/** Returns a field with the text of an option, as converted by a parser. */
export function textField<T>(option: string, parse: (text: string) => T): OptionField<T>
export function textField(option: string, parse = (text: string): unknown => text) {
  return {
    options: { [option]: { type: 'string' } },
    read: ({ [option]: text }: Given) => (text === undefined ? undefined : parse(String(text))),
  }
}

/** Returns a field with a duration in seconds. */
export const secondsField = (option: string): OptionField<number> =>
  textField(option, (text) => parseSeconds(option, text))

/** Returns a field with the id of what an option names. */
export const idField = (option: string, takes: Reference): OptionField<string> => ({
  options: { [option]: { type: 'string', takes } },
  read: ({ [option]: id }) => id as string | undefined,
})

/** Returns a field with the texts of an option that can be given several times. */
export const listField = (option: string): OptionField<string[]> => ({
  options: { [option]: { type: 'string', multiple: true } },
  // `parseArgs` returns a list for an option with `multiple`.
  read: ({ [option]: texts }) => texts as unknown as string[] | undefined,
})

/** Returns a field with the ids of what an option names that can be given several times. */
export const idsField = (option: string, takes: Reference): OptionField<string[]> => ({
  options: { [option]: { type: 'string', multiple: true, takes } },
  read: listField(option).read,
})

/** Returns a field that has this value if an option without a value is given. */
export const flagField = <T>(option: string, value: T): OptionField<T> => ({
  options: { [option]: { type: 'boolean' } },
  read: ({ [option]: flag }) => (flag === true ? value : undefined),
})

/** Returns a field that one of two options sets. Giving both is wrong usage. */
export function eitherField<A, B>(one: OptionField<A>, other: OptionField<B>): OptionField<A | B> {
  const options = { ...one.options, ...other.options }
  return {
    options,
    read(given) {
      const names = Object.keys(options)
      if (names.every((name) => given[name] !== undefined))
        throw new UsageError(
          `Give either ${names.map((name) => `--${name}`).join(' or ')}, not both.`,
        )
      const value = one.read(given)
      return value === undefined ? other.read(given) : value
    },
  }
}

/** Returns the options of fields. */
export const optionsOf = (fields: OptionFields): CommandOptions =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([sets, { options }]) =>
      Object.entries(options).map(([name, option]) => [name, { ...option, sets }]),
    ),
  )

/**
 * Returns the fields that the given options set.
 * @throws UsageError and the errors of the parsers
 */
export const valuesOf = <Fields extends OptionFields>(
  fields: Fields,
  given: Given,
): FieldValues<Fields> =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, field]) => [name, field.read(given)] as const)
      .filter(([, value]) => value !== undefined),
  ) as FieldValues<Fields>

/**
 * Returns the fields that the given options change.
 * @param remedy what to do if no option was given
 * @throws as `valuesOf`, and UsageError if no option was given
 */
export function changesOf<Fields extends OptionFields>(
  fields: Fields,
  given: Given,
  remedy: string,
): FieldValues<Fields> {
  const changes = valuesOf(fields, given)
  if (Object.keys(changes).length === 0)
    throw new UsageError(`Nothing to change was given: ${remedy}`)
  return changes
}
