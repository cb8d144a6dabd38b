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
 * The folders of `test` for which coverage is counted. They reach over 92 % of the lines of `src`.
 * V8 counts each block that runs, which makes computing code six times as slow.
 */
const COUNTED = ['cli', 'handlers', 'http']

/**
 * What `--fast` leaves out: browsers, attacks, executables, the system's services, other programs,
 * PostgreSQL, a server far away, and the files that take longest. `npm test` runs them all.
 */
const LEFT_OUT = [
  /^test\/(attack|e2e|examples|executable|mcp|pages|remote|second|soak|types)\//,
  /^test\/(model|openapi-device|account-server\.\w+)\.test/,
  /^test\/cli\/((service|system|doctor)\/|(backup|device-renew|holder|pipes|purge|recovery|restore-checks)\.)/,
  /^test\/crypto\/(.*properties|approval-search|wrong-entries)\.test/,
  /^test\/device\/((attacks|histories|session)\/|.*(crash|delivery|log|moments|name|push|race|recovery|replac|return|renew)|(connected|ending|former-epoch|listed-invitations)\.)/,
  /^test\/(daemon\/at-once|http\/body-memory|handlers\/trust)\.test/,
  /^test\/service\/(arrangements|belongings|engine|mailbox-lookups|paging|postgres|connections\/list-filters|organisations\/org-(members|times)|.*crash)\.test/,
]

const isCounted = (file: string) => COUNTED.includes(file.split('/')[1] ?? '')

const [isFast, options] =
  process.argv[2] === '--fast' ? [true, process.argv.slice(3)] : [false, process.argv.slice(2)]

const run = (files: readonly string[], before: readonly string[] = []): boolean =>
  runTests({
    files,
    before,
    options,
    // One more than the cores: many files wait for other programs.
    concurrency: availableParallelism() + 1,
    limitMs: TEST_LIMIT_MS,
    env: isFast ? { COUNTERSIGN_TEST_FAST: '1' } : {},
  })

const files = globSync('test/**/*.test.ts', { cwd: ROOT })
const good = isFast
  ? [run(files.filter((file) => !LEFT_OUT.some((some) => some.test(file))))]
  : [
      run(files.filter(isCounted), [C8, process.execPath]),
      run(files.filter((file) => !isCounted(file))),
    ]
process.exitCode = good.every(Boolean) ? 0 : 1
