/** Compares with committed files, which `npm run golden` writes anew. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'

/** Asserts that a text equals a committed file; or writes that, with `UPDATE_GOLDEN=1`. */
export function assertGolden(file: string, text: string): void {
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, text)
  assert.equal(text, readFileSync(file, 'utf8'), `${file}: see "npm run golden"`)
}
