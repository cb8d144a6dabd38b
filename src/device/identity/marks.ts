/**
 * Marks of requests to the account server while their outcome is unknown, each with the session
 * that made it.
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
 * Records that the account server was asked to delete the account. A server that answers this
 * device again has not deleted it. Within five minutes of the request that proves nothing, because
 * a response can be older than the deletion.
 * @param of `at` in Unix milliseconds
 */
export const markAsked = ({ meta }: Meta, of: Asked): void => meta.set(ASKED, of)

export const unmarkAsked = ({ meta }: Meta): void => meta.delete(ASKED)

/** Checks whether deletion was requested: in the given session, or without one in any session. */
export const isAsked = (state: Meta, session?: string): boolean => {
  const asked = read(state)
  return asked !== null && (session === undefined || asked.session === session)
}

/**
 * Checks whether deletion was requested so long ago that a server which still answers did not do
 * it.
 * @param now Unix milliseconds
 */
export const wasAskedLongAgo = (state: Meta, now: number): boolean => {
  const asked = read(state)
  return asked !== null && now - asked.at > ON_ITS_WAY_MS
}

const SIGNED = 'sign_out'

/**
 * Records that this device signed its own revocation. The account server may have accepted it even
 * if its response was lost. It has not if its key log still shows the device.
 */
export const markSigned = ({ meta }: Meta, session: string): void => meta.set(SIGNED, session)

export const unmarkSigned = ({ meta }: Meta): void => meta.delete(SIGNED)

export const isMarked = ({ meta }: Meta, session: string): boolean => meta.get(SIGNED) === session
