/**
 * `npm run soak`: runs the long suites of this folder in full size, one after the other, and
 * prints their figures.
 */
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTests } from '../node-test.ts'

/** How long one test may take in full, in milliseconds. */
const LIMIT_MS = 60 * 60_000

const only = process.argv.slice(2)
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => only.length === 0 || only.some((word) => name.startsWith(word)))
  .map((name) => join(import.meta.dirname, name))

// The files of the tests are on the disk, as those of an installation are, and not in memory.
const env = { SOAK: 'full', TMPDIR: tmpdir() }
if (runTests({ files, concurrency: 1, limitMs: LIMIT_MS, env }).length > 0) process.exitCode = 1
