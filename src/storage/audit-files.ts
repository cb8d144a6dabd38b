/**
 * The files of the audit log in the state folder. `audit.jsonl` grows; beside it are the full
 * files, each named by the number of its last line. `KEPT` full files are kept; the oldest is
 * deleted when another is full.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { openChecked, syncFolder } from '../keychain/private-file.ts'

/** The number of full files that are kept beside the current one. */
const KEPT = 8
const CURRENT = 'audit.jsonl'
const OLDER = /^audit-(\d{12})\.jsonl$/

/** Returns the names of the files of an audit log, oldest first. Twelve digits sort as text. */
export function auditFiles(dir: string): string[] {
  const names = existsSync(dir) ? readdirSync(dir) : []
  const older = names.filter((name) => OLDER.test(name)).toSorted()
  return names.includes(CURRENT) ? [...older, CURRENT] : older
}

/**
 * Opens the current file for appending and creates it if it is missing.
 * @throws StartError for an unsafe file, as for the state folder
 */
export function openCurrent(dir: string): number {
  const { O_RDWR, O_APPEND, O_CREAT } = constants
  return openChecked(join(dir, CURRENT), O_RDWR | O_APPEND | O_CREAT)
}

/**
 * Returns the last `length` bytes of the newest file that is not empty, or all of it if it is
 * shorter. `before` is the number of the last line of the file before that one.
 */
export function endOfLog(dir: string, length: number): { end: Buffer; before: number } {
  const names = auditFiles(dir)
  for (const [index, name] of [...names.entries()].toReversed()) {
    const bytes = readEnd(join(dir, name), length)
    if (bytes.length > 0) return { end: bytes, before: lastLineOf(names[index - 1]) }
  }
  return { end: Buffer.alloc(0), before: 0 }
}

const lastLineOf = (name: string | undefined) => Number(OLDER.exec(name ?? '')?.[1] ?? 0)

function readEnd(path: string, length: number): Buffer {
  const file = openChecked(path, constants.O_RDONLY)
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, length))
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, size - bytes.length))
  } finally {
    closeSync(file)
  }
}

/**
 * Renames the current file by the number of its last line, and deletes the oldest surplus files.
 */
export function putAway(dir: string, lastLine: number): void {
  renameSync(join(dir, CURRENT), join(dir, `audit-${String(lastLine).padStart(12, '0')}.jsonl`))
  const older = auditFiles(dir).filter((name) => name !== CURRENT)
  for (const name of older.slice(0, -KEPT)) rmSync(join(dir, name), { force: true })
  syncFolder(dir)
}
