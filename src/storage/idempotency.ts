/**
 * What was done under an Idempotency-Key. That an act has begun is on the disk before the act, and its answer before anybody
 * hears it; an act without an answer, because a crash or a failure came between, is run again as the same act.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { AppError, type Code, statusOf } from '../errors.ts'
import { statement, transaction } from './sqlite.ts'

/** What makes a repeated request the same act: whatever it needs of chance or time is taken from here. */
export interface Act {
  /** 16 random bytes. */
  readonly id: Uint8Array
  /** When it was first asked for, Unix milliseconds. */
  readonly at: number
}

/** An act of its own, begun at this time (Unix milliseconds). */
export const newAct = (at: number): Act => ({ id: randomBytes(16), at })

/** A request under a key. */
export interface Keyed {
  /** Whose key it is. */
  readonly caller: string
  readonly key: string
  /** Tells this request from any other under the same key. */
  readonly fingerprint: string
}

/**
 * Do something once for a key: a repetition gets the first answer as JSON keeps it.
 * @throws AppError `in_progress` while the first still runs, `idempotency_mismatch` for another request, and what `work` throws
 */
export type Once = <A extends object>(of: Keyed, work: (act: Act) => Promise<A>) => Promise<A>

/** How long an answer is kept. */
export const KEPT_MS = 24 * 3_600_000

export const inProgress = () =>
  new AppError(
    'in_progress',
    'A request with this Idempotency-Key is still being answered: repeat this one in a moment.',
    { headers: { 'Retry-After': '1' } },
  )

export const mismatch = () =>
  new AppError(
    'idempotency_mismatch',
    'This Idempotency-Key was used for another request: take a new key for every new request.',
  )

interface Row {
  readonly fingerprint: string
  readonly act: Uint8Array
  readonly at: number
  /** JSON; null while nobody knows the answer. */
  readonly answer: string | null
}

export type IdempotencyRows = ReturnType<typeof idempotencyRows>

/** The rows of acts under a key. */
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
    /** What is kept under a key; where nothing younger than `oldest` is, an act is begun, and this answers null. */
    begin: ({ caller, key, fingerprint }: Keyed, { id, at }: Act, oldest: number): Row | null =>
      transaction(db, () => {
        prune.run(oldest)
        const known = get.get(caller, key)
        if (known === null) insert.run(caller, key, fingerprint, id, at)
        return known
      }),
    /** Keeps the answer. */
    answer({ caller, key }: Keyed, text: string): void {
      answer.run(text, caller, key)
    },
    /** Forgets the act. */
    remove({ caller, key }: Keyed): void {
      remove.run(caller, key)
    },
  }
}

/** What says nothing of the request itself, so that an earlier attempt at the same act may have gone through. */
const PASSING: ReadonlySet<Code> = new Set([
  'in_progress',
  'invalid_token',
  'not_signed_in',
  'rate_limited',
  'request_timeout',
  'unauthorized',
])

/** Whether an error says for certain that the act did not happen and will not. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && statusOf(error.code) < 500 && !PASSING.has(error.code)

/**
 * Acts under a key, over the state of this device. A refusal is not kept: nothing was done, and whoever mends the cause, or
 * the request, may send it again under the same key. What nobody can know the outcome of (a failure, a server out of reach)
 * stays begun, so that the next attempt is the same act.
 */
export function openIdempotency(of: { rows: IdempotencyRows; now: () => number }): Once {
  const { rows, now } = of
  const running = new Set<string>()
  return async (keyed, work) => {
    const at = now()
    const fresh = newAct(at)
    const known = rows.begin(keyed, fresh, at - KEPT_MS)
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
      // An attempt before this one may have gone through.
      if (known === null && isRefusal(error)) rows.remove(keyed)
      throw error
    } finally {
      running.delete(name)
    }
  }
}
