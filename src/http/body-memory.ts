/**
 * Memory for the request bodies of one listener. Each body is one growing buffer, because a buffer
 * for each chunk costs some 400 bytes even if the chunk has one byte. The sum over all bodies is
 * bounded. Beyond it, the owner with the largest bodies in memory loses the body that has received
 * nothing for longest, so that no token can drop the bodies of another that uses less memory.
 *
 * Large bodies of one token are parsed one after the other, and other requests are served in
 * between.
 */
import { AppError } from '../errors.ts'

/** From this size on, in bytes, parsing blocks the event loop for some time. */
export const LARGE_BYTES = 256 * 1024

/**
 * Creates the queues of one listener.
 * @returns a function that resolves when the next body of a token may be parsed, in a turn of the
 * event loop of its own
 */
export function newLargeBodies(): (token: string) => Promise<void> {
  const last = new Map<string, Promise<void>>()
  return (token) => {
    const before = last.get(token) ?? Promise.resolve()
    const turn = before.then(() => new Promise<void>((resolve) => setImmediate(resolve)))
    last.set(token, turn)
    void turn.then(() => {
      if (last.get(token) === turn) last.delete(token)
    })
    return turn
  }
}

/** The most bytes that all bodies of a listener may occupy. */
const MOST_BYTES = 64 * 1024 * 1024

const dropped = () =>
  new AppError(
    'request_timeout',
    'The server is receiving too many request bodies, and this one made no progress. Send it again.',
  )

/** One body that is being received. */
interface BodyBuffer {
  /** Appends a chunk. */
  append(chunk: Buffer): void
  /**
   * Returns all bytes received. The body can no longer be dropped, but counts until its release.
   */
  finish(): Buffer
  /** Stops counting this body. */
  readonly release: () => void
}

/**
 * Begins a body.
 * @param of `owner`: the token that sends the body, or an empty string for all bodies without
 * one; `limit`: the most bytes that it may have
 * @param drop called, with a 408, when the body is dropped
 */
export type BodyMemory = (
  of: { readonly owner: string; readonly limit: number },
  drop: (error: AppError) => void,
) => BodyBuffer

/** The bodies of one token. */
interface Share {
  /** How many bodies there are. The share exists while it has one. */
  bodies: number
  /** The memory of the bodies, in bytes. */
  held: number
  /**
   * The bodies being received, each with a function that drops it, in the order of their
   * progress.
   */
  readonly receiving: Map<object, () => void>
  /** The last body that made progress. */
  latest: object | null
}

/** Returns the memory of one listener. */
export function newBodyMemory(): BodyMemory {
  /** The shares of the owners that have a body, by owner. */
  const shares = new Map<string, Share>()
  let sum = 0

  /** Returns the share of an owner, with one body more. */
  function enter(owner: string): Share {
    let share = shares.get(owner)
    if (share === undefined) {
      share = { bodies: 0, held: 0, receiving: new Map(), latest: null }
      shares.set(owner, share)
    }
    share.bodies++
    return share
  }

  /**
   * Returns the function that drops the idle body; undefined if there is no body but
   * `progressing`.
   */
  function findIdle(progressing: object): (() => void) | undefined {
    let most = 0
    let found: (() => void) | undefined
    for (const { held, receiving } of shares.values()) {
      if (held <= most) continue
      for (const [key, drop] of receiving) {
        if (key === progressing) continue
        most = held
        found = drop
        break
      }
    }
    return found
  }

  return ({ owner, limit }, drop) => {
    const key = {}
    const share = enter(owner)
    let bytes: Buffer = Buffer.alloc(0)
    let size = 0
    let held = 0
    const count = (now: number) => {
      sum += now - held
      share.held += now - held
      held = now
    }
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      share.receiving.delete(key)
      count(0)
      if (--share.bodies === 0) shares.delete(owner)
    }
    const hold = (larger: Buffer) => {
      count(larger.length)
      bytes = larger
    }
    const dropThis = () => {
      release()
      bytes = Buffer.alloc(0)
      drop(dropped())
    }

    return {
      append(chunk) {
        const end = size + chunk.length
        if (share.latest !== key || !share.receiving.has(key)) {
          share.receiving.delete(key)
          share.receiving.set(key, dropThis)
          share.latest = key
        }
        // Most bodies have one chunk, which needs no copy.
        if (size === 0) hold(chunk)
        else {
          if (end > bytes.length) {
            const larger = Buffer.allocUnsafeSlow(Math.min(limit, 2 * end))
            bytes.copy(larger, 0, 0, size)
            hold(larger)
          }
          chunk.copy(bytes, size)
        }
        size = end
        while (sum > MOST_BYTES) {
          const dropIdle = findIdle(key)
          if (dropIdle === undefined) return
          dropIdle()
        }
      },
      finish() {
        share.receiving.delete(key)
        return bytes.subarray(0, size)
      },
      release,
    }
  }
}
