/**
 * Fails a test in which a row answers an error that it does not declare. Every module that starts
 * the servers of this program in the process of a test imports it, and `test/e2e/program.ts` has
 * each daemon import it that it starts in a process of its own.
 */
import { subscribe } from 'node:diagnostics_channel'
import { entrance } from '../src/api/device/index.ts'
import { type Server, everyCodeOf } from '../src/api/openapi/errors.ts'
import { rowsOf } from '../src/api/rows.ts'
import { ROW_FAILURES, type RowFailure } from '../src/http/dispatch.ts'

/**
 * Checks that a row declares the code of its error, or that the code follows from its fields.
 * @throws Error with the name of the row and the remedy
 */
export function assertDeclared({ table, route, need, code }: RowFailure, server: Server): void {
  if (everyCodeOf({ route, need }, server).has(code)) return
  const row = rowsOf(table).find((one) => one.route === route)
  const name = `${row?.group}.${row?.name} (${route.method} ${route.path})`
  throw new Error(
    `The ${server} answers ${name} with "${code}", which the row does not declare. ` +
      'Add the code to the `errors` of the row in src/api, or answer another error.',
  )
}

// An error of a subscriber becomes an uncaught exception, which no test can expect by accident.
subscribe(ROW_FAILURES, (message) => {
  const failure = message as RowFailure
  const isAccountServer = failure.table['signIns'] === entrance.signIns
  assertDeclared(failure, isAccountServer ? 'account server' : 'daemon')
})
