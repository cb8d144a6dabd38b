/**
 * Ends a process of the built program in which a row answers an error that it does not declare
 * (`--import`). The check is loaded at the first error, because most processes answer none.
 */
import { subscribe } from 'node:diagnostics_channel'
import { ROW_FAILURES } from '../../src/http/row-failures.ts'

// A rejected promise ends the process.
subscribe(ROW_FAILURES, (failure) => {
  void import('../declared-errors.ts').then(({ check }) => check(failure))
})
