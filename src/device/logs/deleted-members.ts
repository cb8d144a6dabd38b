/**
 * Deleted members: accounts that the account server reports as deleted. A deleted account cannot
 * sign a `leave`, so the roster still names it. Only signed entries change the members, and this
 * device removes none because of a report. The report only lowers trust: nothing is sealed to a
 * deleted member, none of its words verify, and the connection gets a new secret, as after a
 * `leave`.
 */
import type { Roster } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

/** The reports of the account server about one account. */
interface Departed {
  /**
   * The epoch by which the account was deleted, according to the last report that began. At most
   * the epoch of the roster at that time.
   */
  readonly epoch: number
  /**
   * Whether the server reports the deletion now. A server that withdraws a report may be lying
   * now, or may have lied before.
   */
  readonly said: boolean
  /** How often a report began. */
  readonly times: number
}

/** The reports by account id. */
type AllDeparted = Readonly<Record<string, Departed>>

type Meta = { readonly meta: Pick<State['meta'], 'get' | 'set' | 'delete'> }

/**
 * The most reports that cause a new secret. A deleted account does not come back: a server that
 * withdraws and repeats its report must not get a new secret each time.
 */
const MOST_TIMES = 3

const key = (connection: string) => `departed ${connection}`

const departedIn = ({ meta }: Meta, connection: string) =>
  (meta.get(key(connection)) ?? {}) as AllDeparted

/**
 * Returns the record of an account after a response. Without a reported epoch, the server reports
 * no deletion. One rotation is due, even if the server later names a later epoch.
 */
function heard(before: Departed | undefined, said: number | undefined, epoch: number) {
  if (said === undefined) return before === undefined ? undefined : { ...before, said: false }
  if (before === undefined) return { epoch: Math.min(said, epoch), said: true, times: 1 }
  if (before.said || before.times === MOST_TIMES) return { ...before, said: true }
  return { epoch: Math.min(said, epoch), said: true, times: before.times + 1 }
}

/**
 * Stores the current reports of the account server about the members of a checked roster.
 * @param said the reported epochs by account id
 * @param own the account of this device, which detects its own deletion in another way
 */
export function noteDeparted(
  state: Meta,
  { connection, epoch, members }: Roster,
  said: ReadonlyMap<string, number>,
  own: string,
): void {
  const before = departedIn(state, connection)
  const departed: AllDeparted = Object.fromEntries(
    members.flatMap(({ account }) => {
      const of = account === own ? undefined : heard(before[account], said.get(account), epoch)
      return of === undefined ? [] : [[account, of] as const]
    }),
  )
  if (JSON.stringify(departed) === JSON.stringify(before)) return
  if (Object.keys(departed).length === 0) state.meta.delete(key(connection))
  else state.meta.set(key(connection), departed)
}

/**
 * Deletes the reports on a connection that this account left or ended. For a connection that the
 * account server only leaves out, they stay, as the roster does: otherwise the server could make
 * all of the reports again.
 */
export const dropDeparted = ({ meta }: Meta, connection: string): void =>
  meta.delete(key(connection))

/**
 * Returns the roster as if its deleted members had left in the epoch by which they were deleted.
 */
export function presentMembers(state: Meta, roster: Roster): Roster {
  const departed = departedIn(state, roster.connection)
  const isGone = (account: string) => departed[account]?.said === true
  const gone = roster.members.filter(({ account }) => isGone(account))
  if (gone.length === 0) return roster
  const isDue = gone.some(({ account }) => roster.epoch <= departed[account]!.epoch)
  return {
    ...roster,
    members: roster.members.filter(({ account }) => !isGone(account)),
    rotationPending: roster.rotationPending || isDue,
  }
}
