/**
 * Reads while the account server is away: the handler of a read runs again with the copies of this
 * device in place of the account.
 */
import { timeAt } from '../api/fields.ts'
import type { Route } from '../api/route.ts'
import { type ByRow, mapRows } from '../api/rows.ts'
import { affectedBy } from '../device/copies/affected.ts'
import { type Copies, NoCopy } from '../device/copies/copies.ts'
import { isAway, type Reachability } from '../device/sync/reachability.ts'
import { AppError } from '../errors.ts'
import type { HandlerContext } from './context.ts'

type Answer = (input: unknown, context: HandlerContext) => Promise<unknown>

/** How long a read waits for a server that was away at the last call, in milliseconds. */
const AWAY_MS = 500
/**
 * How long a read waits for any response of the server, in milliseconds. A network that was lost
 * leaves open connections, on which nothing fails for much longer.
 */
const SILENT_MS = 3_000

interface Away {
  readonly copies: Copies
  readonly reachability: Pick<Reachability, 'last' | 'note'>
  readonly now: () => number
}

/** Returns a function that answers a read from the copies, marked with the age of the oldest. */
const fromCopies =
  ({ copies, reachability, now }: Away, answer: Answer): Answer =>
  async (input, context) => {
    const { account, asOf } = copies.read(reachability.last().since ?? now())
    const value = await answer(input, context.withAccount(account))
    const at = asOf()
    return at === null ? value : { ...(value as object), as_of: timeAt(at) }
  }

const late = () => new AppError('backend_timeout', 'The account server did not answer in time.')

/**
 * Returns an answer. The handler may take longer to compute, but not the server to respond.
 * @throws AppError backend_timeout if a call waits and no call has had a response for `ms`
 *   milliseconds; the answer may still come then
 */
async function inTime(
  answer: Promise<unknown>,
  ms: number,
  last: Reachability['last'],
): Promise<unknown> {
  const made = answer.then((value) => ({ value }))
  made.catch(() => undefined)
  for (;;) {
    const { responses } = last()
    const patience = Promise.withResolvers<null>()
    const timer = setTimeout(patience.resolve, ms, null)
    try {
      const done = await Promise.race([made, patience.promise])
      if (done !== null) return done.value
    } finally {
      clearTimeout(timer)
    }
    if (last().responses === responses && last().pending > 0) throw late()
  }
}

/**
 * Returns a read that is answered from the copies while the account server is away. If that is
 * known from a recent call, the server is not asked. Otherwise the read shows whether it is back.
 */
function reading(away: Away, answer: Answer): Answer {
  const copied = fromCopies(away, answer)
  return async (input, context) => {
    if (context.device === null) return answer(input, context)
    const { last, note } = away.reachability
    const { since, isFresh } = last()
    if (since !== null && isFresh) return copied(input, context)
    const made = answer(input, context)
    try {
      return await inTime(made, since === null ? SILENT_MS : AWAY_MS, last)
    } catch (error) {
      if (!isAway(error)) throw error
      note(error)
      return copied(input, context).catch((none: unknown) => {
        // A server that is only slow still answers.
        if (none instanceof NoCopy && since === null) return insteadOf(none, made)
        throw none
      })
    }
  }
}

/** Returns a read without copies. If the account server is away, its error names this reason. */
const uncopied =
  (away: Away, answer: Answer): Answer =>
  async (input, context) => {
    try {
      return await answer(input, context)
    } catch (error) {
      if (context.device === null || !isAway(error)) throw error
      return fromCopies(away, answer)(input, context)
    }
  }

/** Returns an answer; if the account server is away, throws the given error instead of its own. */
const insteadOf = (error: NoCopy, made: Promise<unknown>): Promise<unknown> =>
  made.catch((own: unknown) => {
    throw isAway(own) ? error : own
  })

/** Returns a write after which the copies that it may have changed are read again. */
const writing =
  ({ copies }: Away, groups: readonly string[], answer: Answer): Answer =>
  async (input, context) =>
    context.device === null
      ? answer(input, context)
      : copies.during(
          groups,
          () => context.home.deviceSession.account(),
          () => answer(input, context),
        )

/**
 * Returns the handlers of a table with copies of the account server's answers.
 * @param answers the handlers by group and name, of the types that the table requires
 */
export const withCopies = (table: ByRow<Route>, answers: object, away: Away): ByRow<Answer> =>
  mapRows<Answer, Answer>(answers as ByRow<Answer>, (answer, name, group) => {
    const route = table[group]?.[name]
    if (route?.copied === true) return reading(away, answer)
    if (route?.method === 'GET') return uncopied(away, answer)
    const groups = affectedBy(group)
    return groups.length === 0 ? answer : writing(away, groups, answer)
  })
