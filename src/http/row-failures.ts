import type { Need } from '../auth/scopes.ts'
import type { Route, Table } from '../api/route.ts'
import type { ErrorCode } from '../errors.ts'

/** An error that a row returned. */
export interface RowFailure {
  readonly table: Table
  readonly route: Route
  readonly need: Need
  readonly code: ErrorCode
}

/**
 * The name of the diagnostics channel on which each error of a row is published (`RowFailure`).
 *
 * Tests subscribe to it, and compare the code with the codes that the row declares
 * (`test/declared-errors.ts`).
 */
export const ROW_FAILURES = 'countersign:row-failures'
