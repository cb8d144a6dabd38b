/**
 * Connections that the person gave up although nothing can be signed for them: their history forks,
 * what the account server shows of them is refused, or all devices of this account were replaced
 * since it came in. The account server still has them; here they are gone, and what cannot be
 * checked of them holds nothing up.
 */
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'

const META = 'dismissed'
type Meta = Pick<State, 'meta'>

const all = ({ meta }: Meta) => (meta.get(META) ?? []) as readonly string[]

/** Their ids. */
export const dismissed = (state: Meta): ReadonlySet<string> => new Set(all(state))

/** Give a connection up. */
export const dismiss = (state: Meta, id: string): void =>
  state.meta.set(META, [...new Set([...all(state), id])])

/** Somebody invites to it, and the person says yes. */
export function recall(state: Meta, id: string): void {
  if (dismissed(state).has(id))
    state.meta.set(
      META,
      all(state).filter((one) => one !== id),
    )
}

/**
 * Whether leaving failed because nothing can be signed: nothing will ever be, or the entry would
 * follow a roster or a key log that breaks a rule. The latter may last, where this device remembers
 * what a dishonest server once showed to it alone.
 */
export const isUnsignable = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.cause instanceof Refusal ||
    (error.code === 'invalid_state' &&
      ['roster_forked', 'changed_unverified'].includes(error.details.state ?? '')))
