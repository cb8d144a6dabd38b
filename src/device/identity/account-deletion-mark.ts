/**
 * The session in which the account server was last asked to delete the account, for as long as nobody knows what became of that. Once
 * that server answers the device again, it has not; but for a while, what it answers may be older than what it does.
 */
import type { State } from '../../state/state.ts'

const ASKED = 'account_deletion'
/** Longer than a request may be on its way. */
const ON_ITS_WAY_MS = 5 * 60_000

interface Asked {
  readonly session: string
  /** Unix milliseconds. */
  readonly at: number
}

type Meta = Pick<State, 'meta'>

const read = ({ meta }: Meta) => meta.get(ASKED) as Asked | null

/** @param of `at` in Unix milliseconds */
export const markAsked = ({ meta }: Meta, of: Asked): void => meta.set(ASKED, of)

export const unmarkAsked = ({ meta }: Meta): void => meta.delete(ASKED)

/** Whether it was asked, in this session or in any. */
export const isAsked = (state: Meta, session?: string): boolean => {
  const asked = read(state)
  return asked !== null && (session === undefined || asked.session === session)
}

/** Whether it was asked so long ago that an account server which still answers has not done it. `now` in Unix milliseconds. */
export const wasAskedLongAgo = (state: Meta, now: number): boolean => {
  const asked = read(state)
  return asked !== null && now - asked.at > ON_ITS_WAY_MS
}
