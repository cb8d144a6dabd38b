/** Options that filter lists. The account server validates the values, as for any client. */
type Options = Readonly<Record<string, string | boolean | undefined>>

/** Returns the given options as a query, without the options that are absent. */
export const given = (options: Options, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, String(options[name])]])),
  )

export const STATE = { state: { type: 'string' } } as const
