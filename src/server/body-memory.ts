/**
 * Memory for the request bodies of one listener. Each body is one growing buffer, because a buffer
 * for each chunk costs some 400 bytes even where the chunk has one byte. The sum over all bodies is
 * bounded: beyond it, the body that has received nothing for longest is dropped.
 */
import { AppError } from '../errors.ts'

/** The most bytes that all bodies of a listener may occupy. */
const MOST_BYTES = 64 * 1024 * 1024

const dropped = () =>
  new AppError(
    'request_timeout',
    'Too many bodies are being received, and this one made no progress: send it again.',
  )

/** One body that is being received. */
export interface BodyBuffer {
  /** Copy a chunk behind those before it. */
  append(chunk: Buffer): void
  /** All bytes received. The body can no longer be dropped, but it counts until its release. */
  finish(): Buffer
  /** Stop counting this body. */
  readonly release: () => void
}

/** Begins a body of at most `limit` bytes. `drop` is called, with a 408, when it has to give way. */
export type BodyMemory = (limit: number, drop: (error: AppError) => void) => BodyBuffer

/** Returns the memory of one listener. */
export function newBodyMemory(): BodyMemory {
  /** Bodies being received and how to drop each. The order of the map is the order of progress. */
  const receiving = new Map<object, () => void>()
  let sum = 0
  let latest: object | null = null

  return (limit, drop) => {
    const key = {}
    let bytes: Buffer = Buffer.alloc(0)
    let size = 0
    let held = 0
    const release = () => {
      receiving.delete(key)
      sum -= held
      held = 0
    }
    const hold = (larger: Buffer) => {
      sum += larger.length - held
      held = larger.length
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
        if (latest !== key || !receiving.has(key)) {
          receiving.delete(key)
          receiving.set(key, dropThis)
          latest = key
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
        for (const [other, dropOther] of receiving) {
          if (sum <= MOST_BYTES || other === key) return
          dropOther()
        }
      },
      finish() {
        receiving.delete(key)
        return bytes.subarray(0, size)
      },
      release,
    }
  }
}
