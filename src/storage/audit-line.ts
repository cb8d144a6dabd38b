/** One line of the audit log: what it says, and the chain that it is a link of. */
import { hash } from 'node:crypto'

/** As `jq` reads it; the order is that of the line. */
export interface AuditLine {
  /** Counts from 1, over all files and all runs. */
  readonly line: number
  /** When it was answered. */
  readonly at: string
  /** As `X-Request-Id` of the answer says it; the lines of calls inside a request have that of the request. */
  readonly request_id: string | null
  /** The user at the other end of the connection, where the system tells (Linux). */
  readonly peer_uid: number | null
  /** The id of the token, `command line`, or `machine <id>`; null where nobody was recognised. */
  readonly token: string | null
  /** Method and path as the table writes them, so that it holds nothing that somebody sent; null where there is no such route. */
  readonly route: string | null
  readonly status: number | null
  /** `done`, or the code of the error; `started` and `stopped` for the daemon itself. */
  readonly outcome: string
  /** The id of what was made. */
  readonly created?: string | undefined
  /** Refusals of nobody since the line before that have no line of their own. */
  readonly unlisted?: number | undefined
  /** Lines since the line before that could not be written: the disk was full for too long. */
  readonly lost?: number | undefined
  /** SHA-256 of the line before, in hex, without its line feed; of nothing for the first. */
  readonly prev: string
}

/** What the first line says is before it. */
export const BEGINNING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** What the next line says of this one: SHA-256 in hex of its bytes, without the line feed. */
export const linkOf = (line: string | Uint8Array): string => hash('sha256', line, 'hex')

/** Read a line; null where it is none of this log, as after a crash in the middle of one. */
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
