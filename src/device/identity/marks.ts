/**
 * Marks for requests to the account server with unknown outcome, each with the session that sent
 * it.
 */
import type { State } from '../../state/state.ts'

const ASKED = 'account_deletion'
/** Longer than a request can be in transit, in milliseconds. */
const ON_ITS_WAY_MS = 5 * 60_000

interface Asked {
  readonly session: string
  /** Unix milliseconds. */
  readonly at: number
}

type Meta = Pick<State, 'meta'>

const read = ({ meta }: Meta) => meta.get(ASKED) as Asked | null

/**
 * Records that the account server was asked to delete the account.
 *
 * If the server later responds to this device, it has not deleted the account. A response within
 * five minutes of the request proves nothing, because it may be older than the deletion.
 * @param of `at` is in Unix milliseconds
 */
export const markAsked = ({ meta }: Meta, of: Asked): void => meta.set(ASKED, of)

export const unmarkAsked = ({ meta }: Meta): void => meta.delete(ASKED)

/** Checks whether the deletion was requested in the given session; without a session, in any. */
export const isAsked = (state: Meta, session?: string): boolean => {
  const asked = read(state)
  return asked !== null && (session === undefined || asked.session === session)
}

/**
 * Checks whether the deletion was requested more than five minutes ago.
 *
 * A server that still responds then did not delete the account.
 * @param now Unix milliseconds
 */
export const wasAskedLongAgo = (state: Meta, now: number): boolean => {
  const asked = read(state)
  return asked !== null && now - asked.at > ON_ITS_WAY_MS
}

const SIGNED = 'sign_out'

/**
 * Records that this device signed its own revocation. Even if the response was lost, the account
 * server may have accepted the revocation. If the key log of the server still has this device as
 * active, the server did not accept the revocation.
 */
export const markSigned = ({ meta }: Meta, session: string): void => meta.set(SIGNED, session)

export const unmarkSigned = ({ meta }: Meta): void => meta.delete(SIGNED)

export const isMarked = ({ meta }: Meta, session: string): boolean => meta.get(SIGNED) === session

/** Checks whether the outcome of a deletion or of an own revocation is unknown. */
export const isOutcomeUnknown = (state: Meta): boolean =>
  isAsked(state) || state.meta.get(SIGNED) !== null
