/**
 * The audit log: who used the account through this daemon, when, for which request, and the
 * outcome.
 *
 * Each line is JSON and contains the hash of the previous line. Therefore, changing, removing or
 * inserting a line requires changing every later line (`audit verify`).
 *
 * If a request changes something or is rejected, its line is written before the response is sent,
 * after all lines before it. The lines of reads and of a start are gathered in memory and written
 * together, so that a read costs no write. If the disk accepts no writes, the log keeps its lines
 * in memory and tries again four times a second, and the daemon continues.
 */
import { closeSync, fstatSync, fsyncSync, writeSync } from 'node:fs'
import type { Log } from '../log.ts'
import { endOfLog, openCurrent, putAway, type AuditLine, linkOf, readLine } from './audit-files.ts'

/** An event to record. The log adds the time and the hash. */
export interface Deed {
  readonly requestId: string | null
  /** Returns the peer's uid. Called only for events that get a line. */
  readonly peer: () => number | null
  /** Absent if the event did not arrive over a connection. */
  readonly channel?: AuditLine['channel'] | undefined
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

/** The maximum size of a file in bytes. A full file is renamed and a new one is begun. */
const LONGEST = 16 * 1024 * 1024
/** The number of bytes read from the end of a file, which usually includes the last two lines. */
const END_BYTES = 8192
/** The maximum number of bytes kept in memory while the disk accepts no writes. */
const MOST_WAITING = 1024 * 1024
/**
 * The maximum number of lines per minute for rejected requests of unrecognised callers.
 *
 * A client without a token must not be able to fill the disk.
 */
const ANONYMOUS_A_MINUTE = 10
const MINUTE_MS = 60_000
const LINE_FEED = 0x0a
/**
 * How long the lines of reads and starts are gathered, and the time between two attempts to write
 * if the disk accepts no writes. In milliseconds.
 */
export const GATHERING_MS = 250
/** The number of gathered bytes that are written without waiting. */
const MOST_GATHERED = 256 * 1024

/** Whether an event is a read or a start. Its line may be written after the response. */
const canWait = ({ route, outcome }: Deed) =>
  outcome === 'started' || (outcome === 'done' && route?.startsWith('GET ') === true)

/** Returns a function that formats times (RFC 3339). Most requests share their millisecond. */
function newClockFace(): (at: number) => string {
  let [known, text] = [NaN, '']
  return (at) => {
    if (at !== known) [known, text] = [at, new Date(at).toISOString()]
    return text
  }
}

/**
 * Returns the text of a line. Written by hand, because `JSON.stringify` of the whole object takes
 * four times as long, and each request pays for it.
 */
function textOf(it: AuditLine): string {
  const { created, unlisted, lost } = it
  return (
    `{"line":${it.line},"at":"${it.at}","request_id":${JSON.stringify(it.request_id)}` +
    `,"peer_uid":${it.peer_uid},"channel":${it.channel === null ? null : `"${it.channel}"`},"token":${JSON.stringify(it.token)}` +
    `,"route":${JSON.stringify(it.route)},"status":${it.status},"outcome":"${it.outcome}"` +
    (created === undefined ? '' : `,"created":${JSON.stringify(created)}`) +
    (unlisted === undefined ? '' : `,"unlisted":${unlisted}`) +
    (lost === undefined ? '' : `,"lost":${lost}`) +
    `,"prev":"${it.prev}"}`
  )
}

/**
 * Returns where the chain of a log continues.
 *
 * A line that a crash truncated counts as a line, and the missing line feed is added later. Its
 * number follows from the last readable line before it, or from the name of the previous file.
 */
function standing(dir: string, bytes = END_BYTES): { line: number; last: Buffer; isCut: boolean } {
  const { end, before } = endOfLog(dir, bytes)
  if (end.length === 0) return { line: before, last: Buffer.alloc(0), isCut: false }
  const isCut = end.at(-1) !== LINE_FEED
  const lines = (isCut ? end : end.subarray(0, -1)).toString('latin1').split('\n')
  // The first line may be only the end of a longer line.
  const whole = end.length === bytes ? lines.slice(1) : lines
  const known = whole.findLastIndex((line) => readLine(line) !== null)
  if (known === -1 && end.length === bytes) return standing(dir, bytes * 8)
  const line = (readLine(whole[known] ?? '')?.line ?? before) + whole.length - 1 - known
  return { line, last: Buffer.from(whole.at(-1) as string, 'latin1'), isCut }
}

/**
 * Opens the audit log of a state folder and continues its chain.
 * @param where `longest`: the maximum size of a file in bytes
 * @throws StartError if one of the files is a link or is accessible to other users
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
   * The first `length` bytes are not written yet: the rest of a partly written line, then whole
   * lines. A buffer, because texts that wait would be copied by each garbage collection.
   */
  let pending = Buffer.allocUnsafe(MOST_GATHERED)
  let length = end.isCut ? pending.write('\n') : 0
  const timeOf = newClockFace()
  let planned: NodeJS.Timeout | undefined
  let fails = false
  let closed = false
  let lost = 0
  /** Rejected requests since the last line that have no line. */
  let unlisted = 0
  /**
   * The start, until the next line or the next write. Its hash loads node:crypto, which the first
   * answer should not wait for.
   */
  let start: readonly [Deed, number] | null = null
  let minute = 0
  let anonymous = 0

  /** Whether one more rejected request of an unrecognised caller gets a line. */
  function isListed(at: number): boolean {
    const current = Math.floor(at / MINUTE_MS)
    if (current !== minute) [minute, anonymous] = [current, 0]
    return ++anonymous <= ANONYMOUS_A_MINUTE
  }

  /** Closes and renames the current file. The next write creates a new one. */
  function turnOver(): void {
    fsyncSync(file)
    closeSync(file)
    file = -1
    putAway(dir, line)
  }

  /** Writes all pending bytes. A full disk often accepts only a part of them. */
  function write(): void {
    if (file === -1) {
      file = openCurrent(dir)
      size = fstatSync(file).size
    }
    while (length > 0) {
      const written = writeSync(file, pending, 0, length)
      size += written
      pending.copyWithin(0, written, length)
      length -= written
    }
    if (size >= longest) turnOver()
  }

  /** Adds a line to the pending bytes. */
  function append(text: string): void {
    // A UTF-16 code unit has at most three bytes in UTF-8.
    const room = length + 3 * text.length + 1
    if (room > pending.length)
      pending = Buffer.concat([pending.subarray(0, length)], Math.max(room, 2 * pending.length))
    length += pending.write(text, length)
    pending[length++] = LINE_FEED
  }

  /** Adds the line of an event to the pending bytes. */
  function add(
    { requestId, peer, channel = null, token, route, status, outcome, created }: Deed,
    at: number,
  ) {
    if (length > MOST_WAITING) {
      lost++
      return
    }
    last = textOf({
      line: ++line,
      at: timeOf(at),
      request_id: requestId,
      peer_uid: peer(),
      channel,
      token,
      route,
      status,
      outcome,
      created,
      unlisted: unlisted || undefined,
      lost: lost || undefined,
      prev: linkOf(last),
    })
    append(last)
    unlisted = 0
    lost = 0
  }

  /** Adds the line of the start, if it has none yet. */
  function addStart(): void {
    if (start === null) return
    const [deed, at] = start
    start = null
    add(deed, at)
  }

  function flush(): void {
    clearTimeout(planned)
    planned = undefined
    addStart()
    try {
      write()
      if (fails) log('info', 'audit log written again')
      fails = false
    } catch (cause) {
      if (!fails)
        log('error', 'audit log cannot be written; its lines are kept in memory', { cause })
      fails = true
      planned = setTimeout(flush, GATHERING_MS)
    }
  }

  return {
    record(deed) {
      if (closed) {
        log('error', 'audit log is closed', { request_id: deed.requestId, outcome: deed.outcome })
        return
      }
      const at = now()
      if (deed.token === null && (deed.status ?? 0) >= 400 && !isListed(at)) {
        unlisted++
        return
      }
      addStart()
      if (deed.outcome === 'started') start = [deed, at]
      else add(deed, at)
      const isFull = length >= MOST_GATHERED && !fails
      if (isFull || !canWait(deed)) flush()
      else planned ??= setTimeout(flush, GATHERING_MS)
    },

    close() {
      flush()
      clearTimeout(planned)
      const left = lost + pending.subarray(0, length).filter((byte) => byte === LINE_FEED).length
      if (left > 0) log('error', 'audit log ends without its last lines', { lines: left })
      if (file !== -1) closeSync(file)
      closed = true
    },
  }
}
