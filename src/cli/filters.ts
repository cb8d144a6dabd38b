/**
 * Options by which lists are filtered. The account server judges the values, as it does those of
 * any caller.
 */
type Options = Readonly<Record<string, string | boolean | undefined>>

/** What the options say that were given, as a query; nothing for the others. */
export const given = (options: Options, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, String(options[name])]])),
  )

export const STATE = { state: { type: 'string' } } as const
