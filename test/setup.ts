/**
 * Runs once before all tests of a run and once after them (`--test-global-setup`). Temporary files
 * go into memory where the machine has enough: most of the time of a database test on a disk is
 * spent in fsync(2).
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MEMORY = '/dev/shm'

/** The free bytes below which the tests use the disk. A whole run needs about a tenth. */
const ENOUGH = 4 * 1024 ** 3

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ENOUGH
  } catch {
    return false
  }
}

/** Returns whether programs run from a folder: some containers forbid it in memory (noexec). */
function runsPrograms(path: string): boolean {
  const program = join(path, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
  return spawnSync(program).status === 0
}

const removed = (path: string) => rmSync(path, { recursive: true, force: true })

let folder: string | null = null

export function globalSetup(): void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return
  const path = mkdtempSync(join(MEMORY, 'countersign-tests-'))
  if (!runsPrograms(path)) return removed(path)
  // Other users enter it as they enter /tmp: PostgreSQL and the tests of another user do.
  chmodSync(path, 0o1777)
  process.env['TMPDIR'] = path
  folder = path
}

export function globalTeardown(): void {
  if (folder !== null) removed(folder)
}
