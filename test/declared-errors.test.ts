/** Tests the check that rows declare their errors: planted rows answer errors that they do not. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ROW_FAILURES } from '../src/http/row-failures.ts'
import { TEST_LIMIT_MS } from './limit.ts'

/** Checks the built program. */
const BUILT = join(import.meta.dirname, 'e2e/declared-errors.ts')
const PLANTED = join(import.meta.dirname, 'fixtures/undeclared-error.ts')

/** Answers a planted row with an error in a process that checks declared errors. */
const plant = (row: string) =>
  spawnSync(process.execPath, [PLANTED, row], { encoding: 'utf8', timeout: TEST_LIMIT_MS })

/** Publishes an error as the built program does, in a process that loads the check when needed. */
const publish = (code: string) => {
  const failure = { table: {}, route: { method: 'GET', path: '/health' }, need: 'none', code }
  const script = `
    process.getBuiltinModule('node:diagnostics_channel')
      .channel('${ROW_FAILURES}').publish(${JSON.stringify(failure)})
    process.nextTick(process.exit)`
  return spawnSync(process.execPath, ['--import', BUILT, '--eval', script], {
    encoding: 'utf8',
    timeout: TEST_LIMIT_MS,
  })
}

it('an undeclared error of the built program ends it, also if it ends at once', () => {
  const { status, stderr } = publish('conflict')
  assert.equal(status, 1, stderr)
  assert.match(stderr, /GET \/health\) with "conflict", which the row does not declare/)
  assert.equal(publish('internal').status, 0)
})

describe('a row that answers an error', () => {
  it('that it does not declare: the process ends with the row and the remedy', () => {
    for (const row of ['bare', 'other']) {
      const { status, stderr } = plant(row)
      assert.equal(status, 1, stderr)
      assert.match(stderr, new RegExp(`things\\.${row} \\(POST /things/${row}\\)`))
      assert.match(stderr, /with "conflict", which the row does not declare\. Add the code/)
    }
  })

  it('that it declares, or that follows from its fields: the process goes on', () => {
    for (const row of ['declared', 'derived']) {
      const { status, stdout, stderr } = plant(row)
      assert.deepEqual([status, stdout], [0, 'answered\n'], stderr)
    }
  })
})
