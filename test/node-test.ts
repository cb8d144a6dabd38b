/** Runs test files with `node --test` and the set-up of a run (`setup.ts`). */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

/**
 * Runs test files, and prints their report.
 * @param of `files`: their paths, absolute or from the root of the project; `concurrency`: how many
 *   run at the same time; `limitMs`: how long one test may take, in milliseconds; `options`: other
 *   options of `node --test`; `before`: arguments before `--test`; `env`: variables for the tests
 * @returns a line for each failed test, or for another reason why the run failed; none if it
 *   succeeded
 */
export function runTests(of: {
  files: readonly string[]
  concurrency: number
  limitMs: number
  options?: readonly string[]
  before?: readonly string[]
  env?: NodeJS.ProcessEnv
}): readonly string[] {
  const { files, concurrency, limitMs, options = [], before = [], env = {} } = of
  const folder = mkdtempSync(join(tmpdir(), 'countersign-failed-tests-'))
  const list = join(folder, 'list')
  try {
    const { status, signal } = spawnSync(
      process.execPath,
      [
        ...before,
        '--require=./test/untracked-promises.cjs',
        '--test',
        '--test-global-setup=test/setup.ts',
        `--test-concurrency=${concurrency}`,
        `--test-timeout=${limitMs}`,
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        '--test-reporter=./test/failed-tests.ts',
        `--test-reporter-destination=${list}`,
        ...options,
        ...files,
      ],
      { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } },
    )
    if (status === 0) return []
    const text = existsSync(list) ? readFileSync(list, 'utf8') : ''
    const failed = text.split('\n').filter(Boolean)
    const ended = `✖ The run ended with ${signal ?? `code ${status}`}, but no test failed.`
    return failed.length > 0 ? failed : [ended]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
