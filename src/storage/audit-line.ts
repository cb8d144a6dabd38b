/** One line of the audit log: its fields, and its link in the hash chain. */
import { hash } from 'node:crypto'

/** A line as `jq` reads it. The fields are in the order of the line. */
export interface AuditLine {
  /** Counts from 1, over all files and all runs. */
  readonly line: number
  /** When the request was answered. */
  readonly at: string
  /** The `X-Request-Id` of the response. Calls inside a request have the id of that request. */
  readonly request_id: string | null
  /** The user at the other end of the connection, where the system provides it (Linux). */
  readonly peer_uid: number | null
  /**
   * The id of the token, `command line`, or `machine <id>`; null if the caller was not
   * recognised.
   */
  readonly token: string | null
  /**
   * Method and path as in the route table, without text from the request; null for an unknown
   * route.
   */
  readonly route: string | null
  readonly status: number | null
  /** `done`, or the code of the error; `started` and `stopped` for the daemon itself. */
  readonly outcome: string
  /** The id of the created resource. */
  readonly created?: string | undefined
  /**
   * Rejected requests of unrecognised callers since the line before that have no line of their
   * own.
   */
  readonly unlisted?: number | undefined
  /**
   * Lines since the line before that could not be written because the disk was full for too long.
   */
  readonly lost?: number | undefined
  /**
   * SHA-256 of the line before, in hex, without its line feed; of the empty string for the first.
   */
  readonly prev: string
}

/** `prev` of the first line. */
export const BEGINNING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/**
 * Returns `prev` of the next line: SHA-256 in hex of the bytes of a line, without the line feed.
 */
export const linkOf = (line: string | Uint8Array): string => hash('sha256', line, 'hex')

/**
 * Reads a line; returns null if it is not a line of this log, as after a crash during a write.
 */
export function readLine(text: string): Pick<AuditLine, 'line' | 'at' | 'prev'> | null {
  try {
    const { line, at, prev } = JSON.parse(text) as Partial<AuditLine>
    return Number.isSafeInteger(line) && typeof at === 'string' && typeof prev === 'string'
      ? { line: line as number, at, prev }
      : null
  } catch {
    return null
  }
}
