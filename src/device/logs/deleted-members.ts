/**
 * Members whose accounts were deleted, as the account server says. Who could not sign that they leave is still named by the roster, and
 * members go by what is signed: nobody is removed on the server's word. On that word they are only trusted less: nothing is sealed to
 * them, nothing that they could say is believed, and the connection gets a new secret, as after a `leave`.
 */
import type { Roster } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'

/** What the account server said of an account. */
interface Departed {
  /** The epoch of the connection by which it went. */
  readonly epoch: number
  /** Whether it says so now. One that takes it back may be lying now, or then. */
  readonly said: boolean
  /** How often it began to say so. */
  readonly times: number
}

/** By account. */
type AllDeparted = Readonly<Record<string, Departed>>

type Meta = { readonly meta: Pick<State['meta'], 'get' | 'set' | 'delete'> }

/** No account comes back: a server that takes its word back and says it again gets no new secret each time. */
const MOST_TIMES = 3

const key = (connection: string) => `departed ${connection}`

const departedIn = ({ meta }: Meta, connection: string) =>
  (meta.get(key(connection)) ?? {}) as AllDeparted

/** What is known of an account now. One rotation is due, however late an epoch the server names later. */
function heard(before: Departed | undefined, said: number | undefined, epoch: number) {
  if (said === undefined) return before === undefined ? undefined : { ...before, said: false }
  if (before === undefined) return { epoch: Math.min(said, epoch), said: true, times: 1 }
  if (before.said || before.times === MOST_TIMES) return { ...before, said: true }
  return { epoch: Math.min(said, epoch), said: true, times: before.times + 1 }
}

/**
 * Remember what the account server says now.
 * @param said of a roster that was checked; `own` is the account of this device, which hears of its own end otherwise
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
 * This account left the connection, or ended it. Of one that the account server only leaves out, what it said stays, as the roster does:
 * else it could say all of it anew.
 */
export const dropDeparted = ({ meta }: Meta, connection: string): void =>
  meta.delete(key(connection))

/** A roster as if those who departed had left by an entry in the epoch by which they went. */
export function present(state: Meta, roster: Roster): Roster {
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
