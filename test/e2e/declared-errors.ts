/**
 * Ends a process of the built program in which a row answers an error that it does not declare
 * (`--import`). The check is loaded at the first error, because most processes answer none.
 */
import { subscribe } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import { ROW_FAILURES } from '../../src/http/row-failures.ts'

const require = createRequire(import.meta.url)

// At once, so that the process cannot end before its check.
subscribe(ROW_FAILURES, (failure) => {
  const { check } = require('../declared-errors.ts') as typeof import('../declared-errors.ts')
  check(failure)
})
