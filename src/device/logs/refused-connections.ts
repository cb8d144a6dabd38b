/**
 * The connections that this account is to leave, since a revoked device consented to them
 * (`late-consents.ts`). Beside the judging of rosters, which loads the curves.
 */
import type { State } from '../../state/state.ts'

const UNAGREED = 'unagreed'
const LISTED = 'connections_listed'

type Meta = Pick<State, 'meta'>

/** Their ids, until this device has left them. */
export const unagreed = ({ meta }: Meta): readonly string[] =>
  (meta.get(UNAGREED) ?? []) as readonly string[]

/** Notes that a connection is one to leave. */
export const noteUnagreed = (state: Meta, connection: string): void =>
  state.meta.set(UNAGREED, [...new Set([...unagreed(state), connection])])

/** Forgets that a connection is one to leave. */
export const dropUnagreed = (state: Meta, connection: string): void =>
  state.meta.set(
    UNAGREED,
    unagreed(state).filter((id) => id !== connection),
  )

/** Whether the connections of the account were listed here before: what comes later is new. */
export const wasListed = ({ meta }: Meta): boolean => meta.get(LISTED) !== null

/** Notes that every connection of the account was listed. */
export function noteListed(state: Meta): void {
  if (!wasListed(state)) state.meta.set(LISTED, true)
}
