/**
 * `npm run soak`: runs the long suites of this folder in full size, one after the other, and
 * prints their figures.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

const only = process.argv.slice(2)
const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => only.length === 0 || only.some((word) => name.startsWith(word)))
  .map((name) => join(import.meta.dirname, name))

process.env['SOAK'] = 'full'
run({ files, concurrency: 1, timeout: 60 * 60_000 })
  .on('test:fail', () => (process.exitCode = 1))
  .compose(spec)
  .pipe(process.stdout)
