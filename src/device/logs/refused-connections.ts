/**
 * The connections that this account must leave. A revoked device consented to them (see
 * `roster-cache.ts`). This module is apart from the judging of rosters, which loads the curves.
 */
import type { State } from '../../state/state.ts'

const UNAGREED = 'unagreed'
const LISTED = 'connections_listed'

type Meta = Pick<State, 'meta'>

/** Returns their ids. An id stays until this device has left the connection. */
export const unagreed = ({ meta }: Meta): readonly string[] =>
  (meta.get(UNAGREED) ?? []) as readonly string[]

/** Records that a connection is one to leave. */
export const noteUnagreed = (state: Meta, connection: string): void =>
  state.meta.set(UNAGREED, [...new Set([...unagreed(state), connection])])

/** Deletes the record that a connection is one to leave. */
export const dropUnagreed = (state: Meta, connection: string): void =>
  state.meta.set(
    UNAGREED,
    unagreed(state).filter((id) => id !== connection),
  )

/**
 * Checks whether the connections of the account were listed here before: any later one is new.
 */
export const wasListed = ({ meta }: Meta): boolean => meta.get(LISTED) !== null

/** Records that every connection of the account was listed. */
export function noteListed(state: Meta): void {
  if (!wasListed(state)) state.meta.set(LISTED, true)
}
