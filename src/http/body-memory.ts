/**
 * Memory for the request bodies of one listener.
 *
 * Each body is one growing buffer, because a separate buffer for each chunk costs about 400 bytes
 * even if the chunk has one byte. The sum over all bodies is limited. If it is exceeded, the token
 * with the most memory loses the body that has received nothing for the longest time. A token
 * therefore cannot cause the loss of bodies of a token that uses less memory.
 *
 * Large bodies of one token are parsed one at a time, and other requests are served in between.
 */
import { AppError } from '../errors.ts'

/** The size of a large body in bytes. Parsing such a body noticeably blocks the event loop. */
export const LARGE_BYTES = 256 * 1024

/**
 * Creates the queues for the large bodies of one listener.
 * @returns a function that resolves when the next large body of a token may be parsed; each body
 * gets a separate turn of the event loop
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

/** The maximum memory for all bodies of a listener, in bytes. */
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
   * Returns all received bytes. The body can no longer be dropped, but counts until it is released.
   */
  finish(): Buffer
  /** Stops counting this body. */
  readonly release: () => void
}

/**
 * Begins a body.
 * @param of `owner`: the digest of the token that sends the body, or an empty string for bodies
 * without a token; `limit`: the body's maximum size in bytes
 * @param drop called with a 408 when the body is dropped
 */
export type BodyMemory = (
  of: { readonly owner: string; readonly limit: number },
  drop: (error: AppError) => void,
) => BodyBuffer

/** The bodies of one owner. */
interface Share {
  /** The number of bodies. The share is deleted when there are none. */
  bodies: number
  /** The memory that the bodies use, in bytes. */
  bytes: number
  /**
   * The bodies that are being received, each with a function that drops it.
   *
   * The body that has received nothing for the longest time is first.
   */
  readonly receiving: Map<object, () => void>
  /** The body that received data last. */
  latest: object | null
}

/** Creates the body memory of one listener. */
export function newBodyMemory(): BodyMemory {
  /** The shares by owner. Only owners with at least one body have a share. */
  const shares = new Map<string, Share>()
  let sum = 0

  /** Returns an owner's share after counting one more body in it. */
  function enter(owner: string): Share {
    let share = shares.get(owner)
    if (share === undefined) {
      share = { bodies: 0, bytes: 0, receiving: new Map(), latest: null }
      shares.set(owner, share)
    }
    share.bodies++
    return share
  }

  /**
   * Returns the function that drops the next body to be dropped; undefined if there is none.
   *
   * `progressing` is the body that is receiving data now, which is never dropped.
   */
  function findIdle(progressing: object): (() => void) | undefined {
    let most = 0
    let found: (() => void) | undefined
    for (const { bytes, receiving } of shares.values()) {
      if (bytes <= most) continue
      for (const [key, drop] of receiving) {
        if (key === progressing) continue
        most = bytes
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
    let counted = 0
    const count = (now: number) => {
      sum += now - counted
      share.bytes += now - counted
      counted = now
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
        // Most bodies have only one chunk, which need not be copied.
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
