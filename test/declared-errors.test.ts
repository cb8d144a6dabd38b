/** Tests the check that rows declare their errors: planted rows answer errors that they do not. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { TEST_LIMIT_MS } from './limit.ts'

const PLANTED = join(import.meta.dirname, 'fixtures/undeclared-error.ts')

/** Answers a planted row with an error in a process that checks declared errors. */
const plant = (row: string) =>
  spawnSync(process.execPath, [PLANTED, row], { encoding: 'utf8', timeout: TEST_LIMIT_MS })

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
