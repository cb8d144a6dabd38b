/**
 * Messages with placeholders such as `{owner}`, and their plural forms. The service and the browser
 * code both use this module.
 */

/** A text for each plural category of the language (`Intl.PluralRules`), chosen by `count`. */
export type PluralForms = { readonly [C in Intl.LDMLPluralRule]?: string } & {
  readonly other: string
}

/** A message as a catalogue file contains it. */
export type MessageSource = string | PluralForms

type NamesIn<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** The names of the placeholders of a message. */
export type PlaceholdersOf<M extends MessageSource> = M extends string
  ? NamesIn<M>
  : M extends PluralForms
    ? NamesIn<Extract<M[keyof M], string>> | 'count'
    : never

declare const NAMES: unique symbol

/**
 * A message with these placeholders. Its type is not a string, so that the compiler finds a message
 * that is shown without values for its placeholders.
 */
export interface Template<Names extends string> {
  readonly [NAMES]: Names
}

/** The message of a catalogue for the message of the English catalogue. */
export type MessageOf<M extends MessageSource> = [PlaceholdersOf<M>] extends [never]
  ? string
  : Template<PlaceholdersOf<M>>

/**
 * Returns a message in parts: its own texts, and the values of its placeholders. Numbers are
 * formatted.
 * @param locale the language tag for plural forms and numbers
 */
export function partsOf<Names extends string, V>(
  template: Template<Names>,
  values: { readonly [N in Names]: V },
  locale: string,
): (string | Exclude<V, number>)[] {
  const source = template as unknown as MessageSource
  const all = values as Readonly<Record<string, V>>
  const text =
    typeof source === 'string'
      ? source
      : (source[new Intl.PluralRules(locale).select(Number(all['count']))] ?? source.other)
  // Texts and names of placeholders alternate.
  return text.split(/\{(\w+)\}/).flatMap((part, i) => {
    if (i % 2 === 0) return part === '' ? [] : [part]
    const value = all[part] as V
    return [
      typeof value === 'number' ? value.toLocaleString(locale) : (value as Exclude<V, number>),
    ]
  })
}
