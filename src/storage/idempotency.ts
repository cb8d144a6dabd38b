/**
 * Runs operations that have an Idempotency-Key.
 *
 * The start of an operation is stored on disk before the operation begins, and its response is
 * stored before it is sent. If a crash or a failure left an operation without a response, a
 * repeated request runs it again with the same id and time.
 */
import { hash, randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { AppError, type ErrorCode, statusOf } from '../errors.ts'
import { statement, transaction } from './sqlite.ts'

/** Identifies an operation. Repeated requests derive their random values and times from it. */
export interface Act {
  /** 16 random bytes. */
  readonly id: Uint8Array
  /** When the operation was first requested, in Unix milliseconds. */
  readonly at: number
}

/** Returns a new operation that begins at a time in Unix milliseconds. */
export const newAct = (at: number): Act => ({ id: randomBytes(16), at })

/**
 * Returns the key for a request that is part of an operation. A repeated request has the same key.
 */
export const requestKey = ({ id }: Pick<Act, 'id'>, method: string, path: string): string =>
  hash('sha256', Buffer.concat([id, Buffer.from(method + path)]), 'base64url')

/** A request with an Idempotency-Key. */
export interface Keyed {
  /** The caller that chose the key. */
  readonly caller: string
  readonly key: string
  /** Distinguishes this request from other requests with the same key. */
  readonly fingerprint: string
}

/**
 * Runs `work` only once for each key. A repeated request gets the first response, parsed from JSON.
 * @throws AppError `in_progress` while the first request is running, `idempotency_mismatch` if the
 * request differs from the first one, and the errors of `work`
 */
export type Once = <A extends object>(of: Keyed, work: (act: Act) => Promise<A>) => Promise<A>

/** How long a response is stored, in milliseconds. */
export const OPERATION_KEPT_MS = 24 * 3_600_000

export const inProgress = () =>
  new AppError(
    'in_progress',
    'A request with this Idempotency-Key is still being processed. Repeat this request in a moment.',
    { headers: { 'Retry-After': '1' } },
  )

export const mismatch = () =>
  new AppError(
    'idempotency_mismatch',
    'This Idempotency-Key was used for another request. Use a new key for every new request.',
  )

interface Row {
  readonly fingerprint: string
  readonly act: Uint8Array
  readonly at: number
  /** The response as JSON; null if it is unknown. */
  readonly answer: string | null
}

/** Returns the statements for the stored operations. */
export function idempotencyRows(db: DatabaseSync) {
  const get = statement<Row>(
    db,
    'select fingerprint, act, at, answer from idempotency where caller = ? and key = ?',
  )
  const insert = statement(
    db,
    'insert into idempotency (caller, key, fingerprint, act, at) values (?, ?, ?, ?, ?)',
  )
  const answer = statement(db, 'update idempotency set answer = ? where caller = ? and key = ?')
  const remove = statement(db, 'delete from idempotency where caller = ? and key = ?')
  const prune = statement(db, 'delete from idempotency where at <= ?')
  return {
    /**
     * Returns the stored operation of a key, if it is newer than `oldest` (Unix milliseconds).
     *
     * If there is none, stores a new operation and returns null.
     */
    begin: ({ caller, key, fingerprint }: Keyed, { id, at }: Act, oldest: number): Row | null =>
      transaction(db, () => {
        prune.run(oldest)
        const known = get.get(caller, key)
        if (known === null) insert.run(caller, key, fingerprint, id, at)
        return known
      }),
    /** Stores the response. */
    answer({ caller, key }: Keyed, text: string): void {
      answer.run(text, caller, key)
    },
    /** Deletes the operation. */
    remove({ caller, key }: Keyed): void {
      remove.run(caller, key)
    },
  }
}

/**
 * The codes of errors that the request itself does not cause. They do not prove that an earlier
 * attempt failed.
 */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'in_progress',
  'invalid_token',
  'not_signed_in',
  'rate_limited',
  'request_timeout',
  'unauthorized',
])

/** Whether an error proves that the operation did not happen and will not happen. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && statusOf(error.code) < 500 && !PASSING.has(error.code)

/**
 * Returns a `Once` that uses the state of this device.
 *
 * A rejection is not stored, because nothing was done. The client can correct the cause or the
 * request, and send it again with the same key. An operation with an unknown outcome (a failure, an
 * unreachable server) stays stored, so that the next attempt is the same operation.
 */
export function openIdempotency(of: {
  rows: ReturnType<typeof idempotencyRows>
  now: () => number
}): Once {
  const { rows, now } = of
  const running = new Set<string>()
  return async (keyed, work) => {
    const at = now()
    const fresh = newAct(at)
    const known = rows.begin(keyed, fresh, at - OPERATION_KEPT_MS)
    if (known !== null && known.fingerprint !== keyed.fingerprint) throw mismatch()
    if (known !== null && known.answer !== null)
      return JSON.parse(known.answer) as Awaited<ReturnType<typeof work>>
    const name = JSON.stringify([keyed.caller, keyed.key])
    if (running.has(name)) throw inProgress()
    running.add(name)
    try {
      const answer = await work(known === null ? fresh : { id: known.act, at: known.at })
      rows.answer(keyed, JSON.stringify(answer))
      return answer
    } catch (error) {
      // If the operation was already stored, an earlier attempt may have succeeded.
      if (known === null && isRefusal(error)) rows.remove(keyed)
      throw error
    } finally {
      running.delete(name)
    }
  }
}
