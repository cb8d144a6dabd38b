/**
 * Runs once before all tests of a run and once after them (`--test-global-setup`). The program is
 * built if the sources are newer: processes of their own run the build. Temporary files go into
 * memory where the machine has enough: most of the time of a database test on a disk is spent in
 * fsync(2). The PostgreSQL of the run starts when a test file asks for it. Node caches the compiled
 * sources between processes and runs, which more than halves the start of each.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  globSync,
  mkdtempSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ROOT } from './node-test.ts'
import { POSTGRES_OFFER } from './service/offered.ts'

/** What a build is made of. */
const SOURCES = ['src/**/*', 'build/**/*', 'docs/*.md', 'README.md', 'package.json', 'build.mjs']

const MEMORY = '/dev/shm'
const COMPILED = join(import.meta.dirname, '../node_modules/.cache/compiled')

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

/** Returns the path of a folder in memory for the temporary files of the run, if there is room. */
function folderInMemory(): string | null {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return null
  const path = mkdtempSync(join(MEMORY, 'countersign-tests-'))
  if (!runsPrograms(path)) {
    removed(path)
    return null
  }
  // Other users enter it as they enter /tmp: PostgreSQL and the tests of another user do.
  chmodSync(path, 0o1777)
  return path
}

let folder: string | null = null
let postgres: { child: ChildProcess; url: Promise<string> } | undefined

/** Starts the PostgreSQL of the run. */
function startPostgres() {
  const program = join(import.meta.dirname, 'service/postgres-of-run.ts')
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const url = Promise.race([
    once(child.stdout, 'data').then(([text]) => String(text).trim()),
    once(child, 'close').then(() => Promise.reject(new Error('PostgreSQL did not start.'))),
  ])
  return { child, url }
}

const offer = createServer((_, res) => {
  postgres ??= startPostgres()
  postgres.url.then(
    (url) => res.end(url),
    (error: unknown) => res.writeHead(500).end(String(error)),
  )
})

/** Returns when a file was last changed, in Unix milliseconds; 0 if it does not exist. */
const changedAt = (path: string) =>
  statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Builds the program unless the build is newer than the sources. */
function buildIfOlder(): void {
  const built = changedAt('dist/countersignd.cjs')
  if (globSync(SOURCES, { cwd: ROOT }).every((path) => changedAt(path) < built)) return
  execFileSync(process.execPath, ['build.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

export async function globalSetup(): Promise<void> {
  buildIfOlder()
  folder = folderInMemory()
  if (folder !== null) process.env['TMPDIR'] = folder
  process.env['NODE_COMPILE_CACHE'] ??= COMPILED
  offer.listen(0, '127.0.0.1').unref()
  await once(offer, 'listening')
  process.env[POSTGRES_OFFER] = `http://127.0.0.1:${(offer.address() as AddressInfo).port}`
}

export async function globalTeardown(): Promise<void> {
  offer.close()
  if (postgres !== undefined) {
    const ended = once(postgres.child, 'close')
    postgres.child.stdin?.end()
    await ended
  }
  if (folder !== null) removed(folder)
}
