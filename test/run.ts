/**
 * Runs the tests with the options of `node --test` that are given:
 *
 *   node test/run.ts          all tests, and the coverage of `src`
 *   node test/run.ts --fast   those for every save: SQLite, no browser, no coverage
 */
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { TEST_LIMIT_MS } from './limit.ts'
import { ROOT, runTests } from './node-test.ts'

const C8 = join(ROOT, 'node_modules/c8/bin/c8.js')

/**
 * The folders of `test` for which coverage is counted, without their files `*.slow.test.ts`. They
 * reach over 90 % of the lines of `src`. V8 counts each block that runs, which makes computing code
 * six times as slow. Processes of their own are not counted: they run the build.
 */
const COUNTED = ['cli', 'desktop', 'handlers', 'http', 'metrics']

/**
 * The folders that `--fast` leaves out, with each file `*.slow.test.ts`: browsers, attacks,
 * executables, the system's services, other programs, a server far away. `npm test` runs them all.
 */
const SLOW = [
  'attack',
  'cli/doctor',
  'cli/service',
  'cli/system',
  'console',
  'device/attacks',
  'device/histories',
  'device/session',
  'e2e',
  'examples',
  'executable',
  'mcp',
  'packages',
  'pages',
  'remote',
  'second',
  'soak',
  'types',
]

const isSlowFile = (file: string) => file.endsWith('.slow.test.ts')

const isSlow = (file: string) =>
  isSlowFile(file) || SLOW.some((folder) => file.startsWith(`test/${folder}/`))

const isCounted = (file: string) => COUNTED.includes(file.split('/')[1] ?? '') && !isSlowFile(file)

const [isFast, options] =
  process.argv[2] === '--fast' ? [true, process.argv.slice(3)] : [false, process.argv.slice(2)]

const run = (files: readonly string[], before: readonly string[] = []): readonly string[] =>
  runTests({
    files,
    before,
    options,
    // Two more than the cores: many files wait for other programs.
    concurrency: availableParallelism() + 2,
    limitMs: TEST_LIMIT_MS,
    env: isFast ? { COUNTERSIGN_TEST_FAST: '1' } : {},
  })

const files = globSync('test/**/*.test.ts', { cwd: ROOT })
const failures = isFast
  ? run(files.filter((file) => !isSlow(file)))
  : [
      ...run(files.filter(isCounted), [C8, process.execPath]),
      ...run(files.filter((file) => !isCounted(file))),
    ]
if (failures.length > 0) {
  console.error(`\nFailed:\n${failures.join('\n')}`)
  process.exitCode = 1
}
