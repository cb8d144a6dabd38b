/**
 * Members who hold a connection up again and again: each revocation of theirs stops all words until
 * another epoch opens. One who does so more than three times in a day is named, so that an owner can
 * remove them.
 */
import type { Holder } from '../crypto/roster.ts'
import type { State } from '../state/state.ts'

const DAY_MS = 24 * 3_600_000
const MOST_A_DAY = 3

/** A revocation that held the connection, and when this device first saw it do so. */
type HoldUp = Holder & { readonly at: number }
type Meta = { readonly meta: Pick<State['meta'], 'get' | 'set' | 'delete'> }

const key = (connection: string) => `hold-ups ${connection}`

const within = ({ meta }: Meta, connection: string, now: number): HoldUp[] =>
  ((meta.get(key(connection)) ?? []) as readonly HoldUp[]).filter(
    ({ at }) => Math.abs(now - at) < DAY_MS,
  )

/** Notes who holds a connection now; a revocation that was noted before counts once. */
export function noteHoldUps(
  state: Meta,
  connection: string,
  holders: readonly Holder[],
  now: number,
): void {
  const known = within(state, connection, now)
  const fresh = holders.filter(({ account, revocation }) =>
    known.every((one) => one.account !== account || one.revocation !== revocation),
  )
  if (fresh.length === 0) return
  const noted = fresh.map((holder) => ({ ...holder, at: now }))
  state.meta.set(key(connection), [...known, ...noted])
}

/** The members who held a connection up more than three times in the last 24 hours. */
export function frequentHolders(state: Meta, connection: string, now: number): string[] {
  const accounts = within(state, connection, now).map(({ account }) => account)
  const counts = Map.groupBy(accounts, (account) => account)
  return [...counts].filter(([, times]) => times.length > MOST_A_DAY).map(([account]) => account)
}

/** Forgets what was noted of a connection. */
export const dropHoldUps = ({ meta }: Meta, connection: string): void =>
  meta.delete(key(connection))
