/**
 * Reads HTTP/1.1 as a strict client: an answer that is not well-formed is a fault of the server.
 */
import { type Socket, connect } from 'node:net'

export interface Reply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Its length on the connection, in bytes. */
  readonly length: number
}

interface Reading {
  /** The answer is to HEAD. */
  readonly bodiless?: boolean
  /** The connection has ended. */
  readonly ended?: boolean
}

const END = Buffer.from('\r\n\r\n')
const LINE = Buffer.from('\r\n')
const NONE = Buffer.alloc(0)

/** Reads the chunks at a place (RFC 9112 section 7.1); null if they are not complete. */
function chunksAt(bytes: Buffer, start: number): { body: Buffer; end: number } | null {
  const chunks: Buffer[] = []
  for (let at = start; ;) {
    const line = bytes.indexOf(LINE, at)
    if (line === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (Number.isNaN(size)) throw new Error('an answer with a broken chunk')
    const end = line + 2 + size
    if (bytes.length < end + 2) return null
    if (size === 0) return { body: Buffer.concat(chunks), end: end + 2 }
    chunks.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}

function headOf(bytes: Buffer, end: number): Pick<Reply, 'status' | 'headers'> {
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) \S.*$/.exec(first)?.[1])
  const fields = lines.map((line) => /^([\w-]+): (.*)$/.exec(line))
  if (Number.isNaN(status) || fields.includes(null))
    throw new Error(`no answer: ${JSON.stringify(bytes.toString('latin1', 0, 300))}`)
  return {
    status,
    headers: Object.fromEntries(
      (fields as RegExpExecArray[]).map(([, name = '', value = '']) => [name.toLowerCase(), value]),
    ),
  }
}

/**
 * Reads the answer at the start of some bytes; null as long as it is not complete.
 * @throws Error for bytes that are not an answer
 */
export function replyIn(
  bytes: Buffer,
  { bodiless = false, ended = false }: Reading = {},
): Reply | null {
  const end = bytes.indexOf(END)
  if (end === -1) {
    if (bytes.length > 65_536 || (bytes.length > 7 && bytes.toString('latin1', 0, 7) !== 'HTTP/1.'))
      throw new Error(`no answer: ${JSON.stringify(bytes.toString('latin1', 0, 300))}`)
    return null
  }
  const head = headOf(bytes, end)
  const start = end + 4
  const { status, headers } = head
  const given = headers['content-length']
  if (bodiless || status < 200 || status === 204 || status === 304)
    return { ...head, body: NONE, length: start }
  if (headers['transfer-encoding'] !== undefined) {
    const chunks = chunksAt(bytes, start)
    return chunks === null ? null : { ...head, body: chunks.body, length: chunks.end }
  }
  if (given === undefined)
    return ended ? { ...head, body: bytes.subarray(start), length: bytes.length } : null
  const whole = start + Number(given)
  if (bytes.length < whole) return null
  return { ...head, body: bytes.subarray(start, whole), length: whole }
}

/** Reads all answers of a connection. A last one that was cut off is skipped. */
export function repliesIn(bytes: Buffer, bodiless = false): Reply[] {
  const replies: Reply[] = []
  for (let rest = bytes; rest.length > 0;) {
    const reply = replyIn(rest, { bodiless, ended: true })
    if (reply === null) return replies
    replies.push(reply)
    rest = rest.subarray(reply.length)
  }
  return replies
}

/** The beginning of a stream that lasts until one side closes it. */
const LASTING =
  /\r\ncontent-type: text\/event-stream\r\n[^]*\r\n\r\n[^]*(?:event: open|id: evt_\w{26})\n/i

/** Returns the beginning of a stream as its answer, if the bytes are one and it lasts. */
function lastingIn(bytes: Buffer): Reply | null {
  if (!LASTING.test(bytes.toString('latin1', 0, 4096))) return null
  const end = bytes.indexOf(END)
  const body = bytes.subarray(end + END.length)
  return { ...headOf(bytes, end), body, length: bytes.length }
}

/** A server that neither answers nor closes. */
export class Hang extends Error {}

export interface Wire {
  /**
   * Sends a request and reads its answer; null if the connection was closed instead.
   * @throws Hang if neither comes in time, Error for an invalid answer
   */
  ask(bytes: Buffer, bodiless?: boolean): Promise<Reply | null>
  close(): void
}

/** Opens a client of one connection, which reconnects after a close. */
export function openWire(port: number, limitMs: number): Wire {
  let socket: Socket | null = null

  const fresh = () => {
    const made = connect({ host: '127.0.0.1', port, noDelay: true })
    made.on('error', () => undefined)
    // A server closes an idle connection after a while.
    made.once('close', () => {
      if (socket === made) socket = null
    })
    return made
  }
  return {
    ask: (bytes, bodiless = false) =>
      new Promise((resolve, reject) => {
        const used = (socket ??= fresh())
        let text: Buffer = NONE
        const done = (act: () => void, isOpen: boolean) => {
          clearTimeout(late)
          used.off('data', take).off('close', gone)
          if (!isOpen) {
            used.destroy()
            socket = null
          }
          act()
        }
        const take = (chunk: Buffer) => {
          text = text.length === 0 ? chunk : Buffer.concat([text, chunk])
          try {
            const reply = replyIn(text, { bodiless })
            if (reply === null) {
              const stream = lastingIn(text)
              if (stream !== null) done(() => resolve(stream), false)
              return
            }
            // An error before the method is known has a body, and is the last answer on its
            // connection.
            const isLast = reply.headers['connection'] === 'close'
            if (reply.length < text.length && !(bodiless && isLast))
              throw new Error('more than one answer to one request')
            done(() => resolve(reply), !isLast)
          } catch (error) {
            done(() => reject(error as Error), false)
          }
        }
        const gone = () => {
          const [reply = null] = text.length === 0 ? [] : repliesIn(text, bodiless)
          done(() => resolve(reply), false)
        }
        const late = setTimeout(
          () => done(() => reject(new Hang(`nothing in ${limitMs} ms`)), false),
          limitMs,
        )
        used.on('data', take).once('close', gone)
        used.write(bytes)
      }),
    close: () => socket?.destroy(),
  }
}

/** A server that is silent for so long waits for more. */
const QUIET_MS = 150

/**
 * Sends bytes on a connection of their own; returns all answers until the server closed it. If
 * the server falls silent and leaves it open, this side is closed.
 * @throws Hang if the server does not close then
 */
export function sendAll(port: number, bytes: Buffer, limitMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    const quiet = setTimeout(() => socket.end(), QUIET_MS)
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Hang(`still open after ${limitMs} ms`))
    }, limitMs)
    const done = () => {
      clearTimeout(quiet)
      clearTimeout(late)
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      quiet.refresh()
    })
    socket.once('end', done)
    // A server resets a connection to drop unread input.
    socket.once('error', done)
    socket.once('close', done)
    socket.write(bytes)
  })
}
