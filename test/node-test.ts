/** Runs test files with `node --test` and the set-up of a run (`setup.ts`). */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

/**
 * Runs test files, and prints their report.
 * @param of `files`: their paths, absolute or from the root of the project; `concurrency`: how many
 *   run at the same time; `limitMs`: how long one test may take, in milliseconds; `options`: other
 *   options of `node --test`; `before`: arguments before `--test`; `env`: variables for the tests
 * @returns whether all succeeded
 */
export function runTests(of: {
  files: readonly string[]
  concurrency: number
  limitMs: number
  options?: readonly string[]
  before?: readonly string[]
  env?: NodeJS.ProcessEnv
}): boolean {
  const { files, concurrency, limitMs, options = [], before = [], env = {} } = of
  const { status } = spawnSync(
    process.execPath,
    [
      ...before,
      '--test',
      '--test-global-setup=test/setup.ts',
      `--test-concurrency=${concurrency}`,
      `--test-timeout=${limitMs}`,
      ...options,
      ...files,
    ],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } },
  )
  return status === 0
}
