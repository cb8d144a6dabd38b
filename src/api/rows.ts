/** Functions over tables. Rows and their answers are both stored by group and name. */
import type { Route, Table } from './route.ts'

/** Values by group and name. */
export type ByRow<T> = Readonly<Record<string, Readonly<Record<string, T>>>>

/** Returns all rows of a table as a list, in the table's order. */
export const rowsOf = (table: Table): { group: string; name: string; route: Route }[] =>
  Object.entries(table).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ group, name, route })),
  )

/**
 * Returns a value for each row, by group and name, in the table's order.
 *
 * Rows for which `make` returns undefined are omitted, and so are groups without any row left.
 */
export function mapRows<T, R>(
  table: ByRow<T>,
  make: (row: T, name: string, group: string) => R | undefined,
): Record<string, Record<string, R>> {
  const made: Record<string, Record<string, R>> = {}
  for (const [group, rows] of Object.entries(table))
    for (const [name, row] of Object.entries(rows)) {
      const value = make(row, name, group)
      if (value !== undefined) (made[group] ??= {})[name] = value
    }
  return made
}

/** Returns the rows that fulfil a condition, by group and name. */
export const filterRows = (
  table: Table,
  fulfils: (route: Route, name: string, group: string) => boolean,
): Table =>
  mapRows(table, (route, name, group) => (fulfils(route, name, group) ? route : undefined))

type Answer = (input: unknown, context: unknown) => Promise<unknown>
type Group = Readonly<Record<string, Answer>>

/**
 * Returns functions that load a group of answers at the first call of one of its rows.
 *
 * An idle daemon therefore has only the code in memory that it has used.
 * @param table the rows
 * @param by restricts the rows to those that these components answer
 * @param loaders loads the answers of each group; called once per group
 */
export function lazily<A extends object>(
  table: Table,
  by: readonly Route['by'][],
  loaders: { readonly [N in keyof A]: () => Promise<A[N]> },
): A {
  const groups = Object.entries(loaders as Readonly<Record<string, () => Promise<Group>>>).map(
    ([groupName, load]) => {
      let here: Group | null = null
      let loading: Promise<Group> | null = null
      const loaded = async () => {
        try {
          return (here = await (loading ??= load()))
        } finally {
          // After a failed load (for example, the database was unreachable), the next call loads
          // again.
          loading = null
        }
      }
      const answers = Object.entries(table[groupName] ?? {}).flatMap(([name, route]) => {
        const from = (group: Group) => group[name] as Answer
        const answer: Answer = (input, context) =>
          here === null
            ? loaded().then((group) => from(group)(input, context))
            : from(here)(input, context)
        return by.includes(route.by) ? [[name, answer] as const] : []
      })
      return [groupName, Object.fromEntries(answers)] as const
    },
  )
  return Object.fromEntries(groups) as unknown as A
}
