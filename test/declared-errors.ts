/**
 * Fails a test in which a row answers an error that it does not declare. Every module that starts
 * the servers of this program in the process of a test imports it. Processes of the built program
 * import `e2e/declared-errors.ts`.
 */
import { subscribe } from 'node:diagnostics_channel'
import { entrance, signedIn } from '../src/api/device/index.ts'
import { type Server, everyCodeOf } from '../src/api/openapi/errors.ts'
import { rest } from '../src/api/rest/index.ts'
import type { Route } from '../src/api/route.ts'
import { rowsOf } from '../src/api/rows.ts'
import { site } from '../src/api/site/index.ts'
import { ROW_FAILURES, type RowFailure } from '../src/http/row-failures.ts'

const nameOf = ({ method, path }: Route) => `${method} ${path}`
const ROWS = new Map(
  [rest, signedIn, entrance, site].flatMap(rowsOf).map(({ route }) => [nameOf(route), route]),
)

/**
 * Checks that a row declares the code of its error, or that the code follows from its fields.
 * @throws Error with the name of the row and the remedy
 */
export function assertDeclared({ table, route, need, code }: RowFailure, server: Server): void {
  // The rows of the built program are copies, and have other schemas.
  const inSources = ROWS.get(nameOf(route)) ?? route
  if (everyCodeOf({ route: inSources, need }, server).has(code)) return
  const row = rowsOf(table).find((one) => one.route === route)
  throw new Error(
    `The ${server} answers ${row?.group}.${row?.name} (${nameOf(route)}) with "${code}", ` +
      'which the row does not declare. ' +
      'Add the code to the `errors` of the row in src/api, or answer another error.',
  )
}

/** Like `assertDeclared`, for a message of the channel. */
export function check(message: unknown): void {
  const failure = message as RowFailure
  const isAccountServer = 'signIns' in failure.table
  assertDeclared(failure, isAccountServer ? 'account server' : 'daemon')
}

// An error of a subscriber becomes an uncaught exception, which no test can expect by accident.
subscribe(ROW_FAILURES, check)
