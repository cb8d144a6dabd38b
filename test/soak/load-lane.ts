/** A connection of a crowd. It always listens, so that an unsolicited answer is noticed. */
import { type Socket, connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Hang, type Reply, replyIn } from './wire.ts'

/**
 * The longest silence of a server on a busy machine: the last client waits for the writes of all
 * others.
 */
const LIMIT_MS = 60_000
const NONE = Buffer.alloc(0)

export interface Sending {
  /** The answer has no body. */
  readonly bodiless?: boolean
  /** Writes byte by byte, with pauses of this many milliseconds. */
  readonly pace?: () => number
}

export interface Lane {
  /**
   * Sends a request and reads its one answer, over a new connection if the last one was closed.
   * @throws Hang if nothing comes, Error for an invalid answer, or more than one
   */
  ask(bytes: Buffer, sending?: Sending): Promise<Reply>
  /** Returns the number of connections so far. */
  opened(): number
  close(): void
}

interface Waiting {
  readonly bodiless: boolean
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

async function drip(socket: Socket, bytes: Buffer, pace: () => number): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed) return
    socket.write(Buffer.of(byte))
    await setTimeout(pace())
  }
}

const shown = (bytes: Buffer) => JSON.stringify(bytes.toString('latin1', 0, 300))

/** Opens a lane to a port of this machine. */
export function openLane(port: number): Lane {
  let socket: Socket | null = null
  let opened = 0
  let text: Buffer = NONE
  let waiting: Waiting | null = null
  let unasked: Error | null = null

  function drop(): void {
    socket?.destroy()
    socket = null
    text = NONE
  }

  function fail(error: Error): void {
    drop()
    const failed = waiting
    waiting = null
    if (failed === null) unasked = error
    else failed.reject(error)
  }

  function hear(chunk: Buffer): void {
    text = text.length === 0 ? chunk : Buffer.concat([text, chunk])
    if (waiting === null) return fail(new Error(`nobody asked for ${shown(text)}`))
    let reply: Reply | null
    try {
      reply = replyIn(text, waiting)
    } catch (error) {
      return fail(error as Error)
    }
    if (reply === null) return undefined
    if (reply.length < text.length)
      return fail(new Error(`more than one answer: ${shown(text.subarray(reply.length))}`))
    const { resolve } = waiting
    waiting = null
    text = NONE
    if (reply.headers['connection'] === 'close') drop()
    return resolve(reply)
  }

  function open(): Socket {
    opened++
    const made = connect({ host: '127.0.0.1', port, noDelay: true })
    const isCurrent = () => made === socket
    made.setTimeout(LIMIT_MS)
    made.on('data', (chunk) => isCurrent() && hear(chunk))
    made.on('timeout', () => isCurrent() && waiting && fail(new Hang(`silent for ${LIMIT_MS} ms`)))
    made.on('error', () => undefined)
    made.on('close', () => {
      if (!isCurrent()) return
      if (waiting === null) drop()
      else fail(new Error(`closed in the middle of an answer: ${shown(text)}`))
    })
    return made
  }

  return {
    ask: (bytes, { bodiless = false, pace } = {}) =>
      new Promise((resolve, reject) => {
        if (unasked !== null) {
          reject(unasked)
          unasked = null
          return
        }
        socket ??= open()
        waiting = { bodiless, resolve, reject }
        if (pace === undefined) socket.write(bytes)
        else void drip(socket, bytes, pace)
      }),
    opened: () => opened,
    close: drop,
  }
}
