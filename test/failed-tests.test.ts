import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './node-test.ts'

const GOOD = `
import { test } from 'node:test'
test('adds', () => {})
test('is not built', { todo: true }, () => { throw new Error('later') })
`
const BAD = `
import { suite, test } from 'node:test'
suite('numbers', () => {
  test('adds', () => {})
  test('divides', () => { throw new Error('by zero\\nand more') })
})
`
const BROKEN = `throw new Error('no such file')`

test('failed tests are listed with their place and reason, and no suites and no tests to do', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-reporter-')))
  try {
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const files = [
      write('good.test.mjs', GOOD),
      write('bad.test.mjs', BAD),
      write('broken.test.mjs', BROKEN),
    ]
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { stdout, status } = spawnSync(
      process.execPath,
      ['--test', '--test-reporter=./test/failed-tests.ts', ...files],
      { cwd: ROOT, env, encoding: 'utf8' },
    )
    assert.equal(status, 1)
    const [, bad, broken] = files as [string, string, string]
    assert.deepEqual(stdout.trim().split('\n').toSorted(), [
      `✖ ${broken} (${relative(ROOT, broken)}:1): test failed`,
      `✖ divides (${relative(ROOT, bad)}:5): by zero`,
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
