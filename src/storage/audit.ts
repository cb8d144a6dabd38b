/**
 * The audit log: who used the account through this daemon, when, for what, and what came of it. JSON lines, each with the hash of
 * the line before, so that none can be changed, taken out or put in without every later one (`audit verify`).
 *
 * The line of what changes something, or was refused, is written before its answer leaves; those of what was only read, and of a
 * start, a moment later and together. While nothing can be written lines are kept, the daemon goes on, and they follow as soon as
 * they can.
 */
import { closeSync, fstatSync, fsyncSync, writeSync } from 'node:fs'
import type { Log } from '../log.ts'
import { endOfLog, openCurrent, putAway } from './audit-files.ts'
import { type AuditLine, linkOf, readLine } from './audit-line.ts'

/** What happened; times and links are the log's. */
export interface Deed {
  readonly requestId: string | null
  /** The user at the other end; asked only for what gets a line. */
  readonly peer: () => number | null
  readonly token: string | null
  readonly route: string | null
  readonly status: number | null
  readonly outcome: string
  readonly created?: string | undefined
}

export interface Audit {
  record(deed: Deed): void
  /** Write what is left, and close the file. */
  close(): void
}

/** Bytes after which a file is put away. */
const LONGEST = 16 * 1024 * 1024
/** Longer than the last two lines, mostly. */
const END_BYTES = 8192
/** Bytes that are kept while nothing can be written. */
const MOST_WAITING = 1024 * 1024
/** Refusals of nobody in particular that get a line, of each minute: whoever may only knock must not fill the disk. */
const ANONYMOUS_A_MINUTE = 10
const MINUTE_MS = 60_000
const LINE_FEED = 0x0a
/** How long lines that can wait do, for others to be written with them. */
export const TOGETHER_MS = 5

/** Whether nothing came of it but an answer, or that answers can come: those do not wait for the log. */
const canWait = ({ route, outcome }: Deed) =>
  outcome === 'started' || (outcome === 'done' && route?.startsWith('GET ') === true)

/** A deed with what is true of it at its time alone. */
interface Told extends Deed {
  readonly at: number
  readonly uid: number | null
  /** Refusals since the one before. */
  readonly unlisted: number
}

/**
 * Where the chain of a log stands. What a crash cut off is a line like any other, and gets the end it lacks; its number follows from
 * the last line before it that can be read, or from the name of the file before.
 */
function standing(dir: string, bytes = END_BYTES): { line: number; last: Buffer; isCut: boolean } {
  const { end, before } = endOfLog(dir, bytes)
  if (end.length === 0) return { line: before, last: Buffer.alloc(0), isCut: false }
  const isCut = end.at(-1) !== LINE_FEED
  const lines = (isCut ? end : end.subarray(0, -1)).toString('latin1').split('\n')
  // The first of these may be the end of a longer one.
  const whole = end.length === bytes ? lines.slice(1) : lines
  const known = whole.findLastIndex((line) => readLine(line) !== null)
  if (known === -1 && end.length === bytes) return standing(dir, bytes * 8)
  const line = (readLine(whole[known] ?? '')?.line ?? before) + whole.length - 1 - known
  return { line, last: Buffer.from(whole.at(-1) as string, 'latin1'), isCut }
}

/**
 * Go on with the audit log of a state folder.
 * @param longest bytes after which a file is put away
 * @throws StartError where a file of it is a link, or open to others
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
  /** What was not written yet: whole lines, after what is left of one that was written in part. */
  let rest = Buffer.from(end.isCut ? '\n' : '')
  let waiting = ''
  /** What has no line yet. */
  let told: Told[] = []
  let planned: NodeJS.Timeout | undefined
  let fails = false
  let closed = false
  let lost = 0
  /** Since the last that was told, and since the last that has a line. */
  let unlisted = 0
  let unsaid = 0
  let minute = 0
  let anonymous = 0

  /** Whether another refusal of nobody gets a line. */
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

  /** Another file, when this one is long. */
  function turnOver(): void {
    fsyncSync(file)
    closeSync(file)
    file = -1
    putAway(dir, line)
  }

  /** Write all that waits. A disk that is full takes a part of it, mostly. */
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
        log('error', 'audit log not written: its lines are kept until it can be', { cause })
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
