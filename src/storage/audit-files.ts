/**
 * The files of the audit log in the state folder.
 *
 * Lines are added to `audit.jsonl`. A full file is renamed by the number of its last line. `KEPT`
 * full files are kept, and then the oldest is deleted when another one is full.
 */
import { hash } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { openChecked, syncFolder } from '../keychain/private-file.ts'

/** A line of the audit log. The fields are in the order of the line. */
export interface AuditLine {
  /** The line number. It counts from 1, over all files and all runs of the daemon. */
  readonly line: number
  /** When the request was answered (RFC 3339). */
  readonly at: string
  /** The response's `X-Request-Id`. A call inside another request has that request's id. */
  readonly request_id: string | null
  /** The uid of the process that sent the request, if the system provides it (Linux). */
  readonly peer_uid: number | null
  /**
   * `tcp`, or `socket` for a Unix socket, which has no peer_uid; null if the command line sent the
   * request in its own process, and for the daemon itself.
   */
  readonly channel: 'tcp' | 'socket' | null
  /** The token's id, `command line`, or `machine <id>`; null if the caller was not recognised. */
  readonly token: string | null
  /**
   * The method and the path as in the route table, without text from the request.
   *
   * Null for an unknown route.
   */
  readonly route: string | null
  readonly status: number | null
  /** `done`, or the error code. For the daemon itself: `started` or `stopped`. */
  readonly outcome: string
  /** The id of the created resource. */
  readonly created?: string | undefined
  /**
   * The number of requests rejected since the previous line that have no line.
   *
   * Only rejected requests of unrecognised callers can have no line.
   */
  readonly unlisted?: number | undefined
  /** The number of lines lost since the previous line, because the disk was full for too long. */
  readonly lost?: number | undefined
  /**
   * SHA-256 of the previous line in hex, without its line feed.
   *
   * In the first line, it is the SHA-256 of the empty string.
   */
  readonly prev: string
}

/** The value of `prev` in the first line. */
export const BEGINNING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Returns the next line's `prev`: SHA-256 in hex of the bytes of a line, without the line feed. */
export const linkOf = (line: string | Uint8Array): string => hash('sha256', line, 'hex')

/** A line as read. Someone with the rights of the daemon may have written the other members. */
type ReadLine = Pick<AuditLine, 'line' | 'at' | 'prev'> & Partial<AuditLine>

/** Reads a line; returns null if it is not valid, for example after a crash during a write. */
export function readLine(text: string): ReadLine | null {
  try {
    const read = JSON.parse(text) as Partial<AuditLine>
    const { line, at, prev } = read
    return Number.isSafeInteger(line) && typeof at === 'string' && typeof prev === 'string'
      ? (read as ReadLine)
      : null
  } catch {
    return null
  }
}

/** The number of full files that are kept beside the current one. */
const KEPT = 8
const CURRENT = 'audit.jsonl'
const OLDER = /^audit-(\d{12})\.jsonl$/

/** Returns the names of an audit log's files, oldest first. Numbers of 12 digits sort as text. */
export function auditFiles(dir: string): string[] {
  const names = existsSync(dir) ? readdirSync(dir) : []
  const older = names.filter((name) => OLDER.test(name)).toSorted()
  return names.includes(CURRENT) ? [...older, CURRENT] : older
}

/**
 * Opens the current file for appending, and creates it if it is missing.
 * @throws StartError if the file is unsafe, as for the state folder
 */
export function openCurrent(dir: string): number {
  const { O_RDWR, O_APPEND, O_CREAT } = constants
  return openChecked(join(dir, CURRENT), O_RDWR | O_APPEND | O_CREAT)
}

/**
 * Returns the end of the log: the last `length` bytes of the newest file that is not empty.
 *
 * If the file is shorter, the whole file is returned. `before` is the number of the last line in
 * the previous file.
 */
export function endOfLog(dir: string, length: number): { end: Buffer; before: number } {
  const names = auditFiles(dir)
  for (const [index, name] of [...names.entries()].toReversed()) {
    const bytes = readEnd(join(dir, name), length)
    if (bytes.length > 0) return { end: bytes, before: lastLineIn(names[index - 1]) }
  }
  return { end: Buffer.alloc(0), before: 0 }
}

/** Returns the number of the last line of a full file, by its name; 0 without a file. */
export const lastLineIn = (name: string | undefined): number =>
  Number(OLDER.exec(name ?? '')?.[1] ?? 0)

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
