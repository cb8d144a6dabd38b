/** Reads the rows of a table, and the answers to them, which have the same groups and names. */
import type { Route, Table } from './route.ts'

/** Values by group and name. */
export type ByRow<T> = Readonly<Record<string, Readonly<Record<string, T>>>>

/** Returns all rows of a table as one list, in its order. */
export const rowsOf = (table: Table): { group: string; name: string; route: Route }[] =>
  Object.entries(table).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ group, name, route })),
  )

/**
 * Returns a value for each row, by group and name, in their order. Omits the rows for which
 * `make` returns undefined, and groups without any other.
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
