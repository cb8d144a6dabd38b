/**
 * Background work that no request waits for; the suite of transactions tests it with operations.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { newBackground } from '../../src/service/db/background.ts'

test('failed background work is logged, with a stack only for unexpected errors', async () => {
  const lines: unknown[] = []
  const background = newBackground((_, __, fields) => lines.push(fields))
  const bug = new TypeError('bug')
  const errors = [
    new AppError('backend_error', 'not sent', { cause: '550 no such user' }),
    new AppError('backend_unavailable', 'away'),
    bug,
  ]
  for (const error of errors) background.run(() => Promise.reject(error))
  await background.idle()
  // The code that starts work is finished, and gets no error even if the work fails at once.
  background.run(() => {
    throw bug
  })
  await background.idle()
  assert.deepEqual(lines, [
    { error: 'backend_error', cause: '550 no such user' },
    { error: 'backend_unavailable', cause: 'away' },
    { cause: bug },
    { cause: bug },
  ])
})
