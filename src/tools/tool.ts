/** The tools: rows of the table as calls that take one object. */
import type { Route, Table } from '../api/route.ts'

export interface Tool {
  /** `group_row` in snake case, such as `org_members_bulk_invite`. */
  readonly name: string
  /** The row that it calls. */
  readonly group: string
  readonly row: string
  readonly route: Route
}

/**
 * What is for programs that read documents, for whoever has no token yet, or, as the end of the account, for nobody who acts on
 * another's behalf: it cannot be taken back, and nothing on the wire asks twice.
 */
const NO_TOOLS = new Set(['health', 'token', 'openapi', 'docs', 'tools', 'account'])

const snakeCase = (text: string) => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The tools of a table, in its order. */
export const toolsOf = (table: Table): Tool[] =>
  Object.entries(table)
    .filter(([group]) => !NO_TOOLS.has(group))
    .flatMap(([group, routes]) =>
      Object.entries(routes).map(([row, route]) => ({
        name: snakeCase(`${group}_${row}`),
        group,
        row,
        route,
      })),
    )
