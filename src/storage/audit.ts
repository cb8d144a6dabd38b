/**
 * The audit log: who used the account through this daemon, when, for which request, and with
 * which outcome. JSON lines, each with the hash of the line before, so that no line can be
 * changed, removed or inserted without every later one (`audit verify`).
 *
 * The line of a request that changes something or was rejected is written before its response is
 * sent. The lines of reads and of a start are written a moment later and together. While the disk
 * accepts no writes, the log keeps its lines in memory, the daemon continues, and the lines
 * follow as soon as possible.
 */
import { closeSync, fstatSync, fsyncSync, writeSync } from 'node:fs'
import type { Log } from '../log.ts'
import { endOfLog, openCurrent, putAway, type AuditLine, linkOf, readLine } from './audit-files.ts'

/** An event to record. The log adds times and links. */
export interface Deed {
  readonly requestId: string | null
  /** Returns the user at the other end. Called only for events that get a line. */
  readonly peer: () => number | null
  readonly token: string | null
  readonly route: string | null
  readonly status: number | null
  readonly outcome: string
  readonly created?: string | undefined
}

export interface Audit {
  record(deed: Deed): void
  /** Writes the pending lines and closes the file. */
  close(): void
}

/** Bytes after which a file is renamed and a new one is begun. */
const LONGEST = 16 * 1024 * 1024
/** Bytes that mostly include the last two lines. */
const END_BYTES = 8192
/** Bytes that are kept in memory while the disk accepts no writes. */
const MOST_WAITING = 1024 * 1024
/**
 * Rejected requests of unrecognised callers that get a line, per minute. A client without a token
 * must not fill the disk.
 */
const ANONYMOUS_A_MINUTE = 10
const MINUTE_MS = 60_000
const LINE_FEED = 0x0a
/** How long deferrable lines wait so that others can be written with them, in milliseconds. */
export const TOGETHER_MS = 5

/** Whether the line is one of a read or of a start. Responses do not wait for those lines. */
const canWait = ({ route, outcome }: Deed) =>
  outcome === 'started' || (outcome === 'done' && route?.startsWith('GET ') === true)

/** An event with the values that are known only when it occurs. */
interface Told extends Deed {
  readonly at: number
  readonly uid: number | null
  /** Rejected requests without a line since the event before. */
  readonly unlisted: number
}

/**
 * Returns the position in the chain of a log. A line that a crash truncated counts as a line and
 * gets the line feed that it lacks. Its number follows from the last readable line before it, or
 * from the name of the file before.
 */
function standing(dir: string, bytes = END_BYTES): { line: number; last: Buffer; isCut: boolean } {
  const { end, before } = endOfLog(dir, bytes)
  if (end.length === 0) return { line: before, last: Buffer.alloc(0), isCut: false }
  const isCut = end.at(-1) !== LINE_FEED
  const lines = (isCut ? end : end.subarray(0, -1)).toString('latin1').split('\n')
  // The first of these may be the end of a longer line.
  const whole = end.length === bytes ? lines.slice(1) : lines
  const known = whole.findLastIndex((line) => readLine(line) !== null)
  if (known === -1 && end.length === bytes) return standing(dir, bytes * 8)
  const line = (readLine(whole[known] ?? '')?.line ?? before) + whole.length - 1 - known
  return { line, last: Buffer.from(whole.at(-1) as string, 'latin1'), isCut }
}

/**
 * Opens the audit log of a state folder and continues its chain.
 * @param longest bytes after which a file is renamed and a new one is begun
 * @throws StartError if one of its files is a link or is accessible to others
 */
export function openAudit(where: {
  readonly dir: string
  readonly now: () => number
  readonly log: Log
  readonly longest?: number
}): Audit {
  const { dir, now, log, longest = LONGEST } = where
  let file = openCurrent(dir)
  let { size } = fstatSync(file)
  const end = standing(dir)
  let { line } = end
  let last: string | Buffer = end.last
  /**
   * Bytes not written yet, without `waiting`: the rest of a partly written line, then whole
   * lines.
   */
  let rest = Buffer.from(end.isCut ? '\n' : '')
  let waiting = ''
  /** Events that have no line yet. */
  let told: Told[] = []
  let planned: NodeJS.Timeout | undefined
  let fails = false
  let closed = false
  let lost = 0
  /** Rejected requests without a line: since the last recorded event, and since the last line. */
  let unlisted = 0
  let unsaid = 0
  let minute = 0
  let anonymous = 0

  /** Whether another rejected request of an unrecognised caller gets a line. */
  function isListed(at: number): boolean {
    const current = Math.floor(at / MINUTE_MS)
    if (current !== minute) [minute, anonymous] = [current, 0]
    return ++anonymous <= ANONYMOUS_A_MINUTE
  }

  function lineOf({ at, requestId, uid, created, ...deed }: Told): string {
    const said: AuditLine = {
      line: line + 1,
      at: new Date(at).toISOString(),
      request_id: requestId,
      peer_uid: uid,
      token: deed.token,
      route: deed.route,
      status: deed.status,
      outcome: deed.outcome,
      created,
      unlisted: unsaid || undefined,
      lost: lost || undefined,
      prev: linkOf(last),
    }
    return JSON.stringify(said)
  }

  /** Closes and renames the current file. The next write creates another one. */
  function turnOver(): void {
    fsyncSync(file)
    closeSync(file)
    file = -1
    putAway(dir, line)
  }

  /** Writes all pending bytes. A full disk mostly accepts a part of them. */
  function write(): void {
    if (file === -1) {
      file = openCurrent(dir)
      size = fstatSync(file).size
    }
    const fresh = Buffer.from(waiting)
    rest = rest.length === 0 ? fresh : Buffer.concat([rest, fresh])
    waiting = ''
    while (rest.length > 0) {
      const written = writeSync(file, rest)
      size += written
      rest = rest.subarray(written)
    }
    if (size >= longest) turnOver()
  }

  function add(one: Told): void {
    unsaid += one.unlisted
    if (rest.length + waiting.length > MOST_WAITING) {
      lost++
      return
    }
    last = lineOf(one)
    waiting += `${last}\n`
    line++
    unsaid = 0
    lost = 0
  }

  function flush(): void {
    clearTimeout(planned)
    planned = undefined
    for (const one of told) add(one)
    told = []
    try {
      write()
      if (fails) log('info', 'audit log written again')
      fails = false
    } catch (cause) {
      if (!fails)
        log('error', 'audit log cannot be written; its lines are kept in memory', { cause })
      fails = true
    }
  }

  return {
    record(deed) {
      if (closed) {
        log('error', 'audit log is closed', { request_id: deed.requestId, outcome: deed.outcome })
        return
      }
      const at = now()
      if (deed.token === null && (deed.status ?? 0) >= 400 && !isListed(at)) unlisted++
      else {
        told.push({ ...deed, at, uid: deed.peer(), unlisted })
        unlisted = 0
        if (canWait(deed)) planned ??= setTimeout(flush, TOGETHER_MS)
        else flush()
      }
    },

    close() {
      flush()
      const left = lost + waiting.split('\n').length - 1 + (rest.length > 0 ? 1 : 0)
      if (left > 0) log('error', 'audit log ends without its last lines', { lines: left })
      if (file !== -1) closeSync(file)
      closed = true
    },
  }
}
