/**
 * Where the audit log lies in the state folder: `audit.jsonl`, and beside it what became too long, named by the number of its
 * last line. So many are kept; the oldest goes when another is full.
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

/** Files that are kept beside the one that grows. */
const KEPT = 8
const CURRENT = 'audit.jsonl'
const OLDER = /^audit-(\d{12})\.jsonl$/

/** The names of the files of an audit log, oldest first. Twelve digits sort as text. */
export function auditFiles(dir: string): string[] {
  const names = existsSync(dir) ? readdirSync(dir) : []
  const older = names.filter((name) => OLDER.test(name)).toSorted()
  return names.includes(CURRENT) ? [...older, CURRENT] : older
}

/** Open the file that grows, to add to it; it is made where there is none. Throws StartError as the state folder does. */
export function openCurrent(dir: string): number {
  const { O_RDWR, O_APPEND, O_CREAT } = constants
  return openChecked(join(dir, CURRENT), O_RDWR | O_APPEND | O_CREAT)
}

/**
 * The last `length` bytes of the log, or as many as the newest file that is not empty has; `before` is the number of the last line of the
 * file before that one.
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

/** Give the file that grew the number of its last line for a name, and delete what is one too many. */
export function putAway(dir: string, lastLine: number): void {
  renameSync(join(dir, CURRENT), join(dir, `audit-${String(lastLine).padStart(12, '0')}.jsonl`))
  const older = auditFiles(dir).filter((name) => name !== CURRENT)
  for (const name of older.slice(0, -KEPT)) rmSync(join(dir, name), { force: true })
  syncFolder(dir)
}
