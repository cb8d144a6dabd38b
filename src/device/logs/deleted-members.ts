/**
 * Members that the account server reports as deleted accounts.
 *
 * A deleted account cannot sign a `leave`, so the roster still contains it. Only signed entries
 * change the membership, so this device does not remove such a member. The report only reduces
 * trust: nothing is sealed to the member, its words do not verify, and the connection gets a new
 * secret, as after a `leave`.
 */
import type { Roster } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

/** What the account server reported about one account. */
interface Departed {
  /**
   * The epoch in which the account was deleted, as the server reported when the last report began.
   * It is at most the roster's epoch at that time.
   */
  readonly epoch: number
  /**
   * Whether the server currently reports the deletion. A server that withdraws a report is lying
   * now or was lying before.
   */
  readonly said: boolean
  /** How many times a report began. */
  readonly times: number
}

/** The reports by account id. */
type AllDeparted = Readonly<Record<string, Departed>>

type Meta = { readonly meta: Pick<State['meta'], 'get' | 'set' | 'delete'> }

/**
 * The maximum number of reports that cause a new secret. A deleted account does not return, so a
 * server that withdraws and repeats its report must not cause a new secret each time.
 */
const MOST_TIMES = 3

const key = (connection: string) => `departed ${connection}`

const departedIn = ({ meta }: Meta, connection: string) =>
  (meta.get(key(connection)) ?? {}) as AllDeparted

/**
 * Returns the updated record of an account.
 *
 * `reported` is the epoch that the server reports; undefined means that it reports no deletion. A
 * report makes one rotation due, even if the server later names a later epoch.
 */
function updateRecord(before: Departed | undefined, reported: number | undefined, epoch: number) {
  if (reported === undefined) return before === undefined ? undefined : { ...before, said: false }
  if (before === undefined) return { epoch: Math.min(reported, epoch), said: true, times: 1 }
  if (before.said || before.times === MOST_TIMES) return { ...before, said: true }
  return { epoch: Math.min(reported, epoch), said: true, times: before.times + 1 }
}

/**
 * Stores the account server's current reports about the members of a verified roster.
 * @param reported the reported epochs by account id
 * @param own the own account, which detects its deletion in another way
 */
export function noteDeparted(
  state: Meta,
  { connection, epoch, members }: Roster,
  reported: ReadonlyMap<string, number>,
  own: string,
): void {
  const before = departedIn(state, connection)
  const departed: AllDeparted = Object.fromEntries(
    members.flatMap(({ account }) => {
      const of =
        account === own ? undefined : updateRecord(before[account], reported.get(account), epoch)
      return of === undefined ? [] : [[account, of] as const]
    }),
  )
  if (JSON.stringify(departed) === JSON.stringify(before)) return
  if (Object.keys(departed).length === 0) state.meta.delete(key(connection))
  else state.meta.set(key(connection), departed)
}

/**
 * Deletes the reports about a connection that this account left or ended. If the account server
 * only stops listing a connection, the reports and the roster stay. Otherwise the server could
 * begin all reports again.
 */
export const dropDeparted = ({ meta }: Meta, connection: string): void =>
  meta.delete(key(connection))

/**
 * Returns the roster as if its deleted members had left in the epoch in which they were deleted.
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
