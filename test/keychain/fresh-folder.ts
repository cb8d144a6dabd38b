import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** Returns a new folder of mode 0700 that is deleted with the test. */
export function freshFolder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-'))
  // A database that the test closes only after this may still write files into it.
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }))
  return dir
}
