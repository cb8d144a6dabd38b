/** Tools: each is a row of the table that is called with one object as its argument. */
import type { Rest } from '../rest/index.ts'
import type { Route, Table } from '../route.ts'
import { rowsOf } from '../rows.ts'

export interface Tool {
  /** The group and the row in snake case, such as `org_members_bulk_invite`. */
  readonly name: string
  /** The row that the tool calls. */
  readonly group: string
  readonly row: string
  readonly route: Route
}

/**
 * The groups without tools.
 *
 * Some are documents for programs or routes for callers without a token. The deletion of the
 * account cannot be undone, and the interface has no confirmation for it. An approved device has
 * the whole account, and a text that a model reads could ask for an approval. The four contact
 * words are a secret between two people, but a conversation with a model is stored elsewhere. Stamp
 * files and the audit log are long, and for people.
 */
const NO_TOOLS = [
  'health',
  'metrics',
  'token',
  'openapi',
  'docs',
  'tools',
  'account',
  'contactWords',
  'approvals',
  'doctor',
  'webhooks',
  'stamps',
  'audit',
] as const

type SnakeCase<S extends string> = S extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeCase<Rest>}`
  : ''
type Name<G extends string, R extends string> = `${SnakeCase<G>}_${SnakeCase<R>}`

/** The groups of *rest* that have tools. */
export type ToolGroup = Exclude<keyof Rest, (typeof NO_TOOLS)[number]>

/** The names of the tools of *rest*. */
export type ToolName = { [N in ToolGroup]: Name<N, keyof Rest[N] & string> }[ToolGroup]

const snakeCase = (text: string) => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the tools of a table, in the table's order. */
export const toolsOf = (table: Table): Tool[] =>
  rowsOf(table)
    .filter(({ group }) => !(NO_TOOLS as readonly string[]).includes(group))
    .map(({ group, name, route }) => ({
      name: snakeCase(`${group}_${name}`),
      group,
      row: name,
      route,
    }))
