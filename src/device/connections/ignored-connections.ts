/**
 * Connections that the user dismissed because this device cannot sign anything for them.
 *
 * The reason is a forked history, rejected data from the server, or that all devices of this
 * account were replaced since it joined. The account server still lists such a connection. This
 * device hides it, and its unverifiable data does not affect anything else.
 */
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { derived } from '../../state/derived.ts'
import type { State } from '../../state/state.ts'

const META = 'dismissed'
type Meta = Pick<State, 'meta' | 'changes'>

const all = ({ meta }: Pick<State, 'meta'>) => (meta.get(META) ?? []) as readonly string[]

/** Returns the ids of the ignored connections. */
export const dismissed: (state: Meta) => ReadonlySet<string> = derived(
  (state: Meta) => new Set(all(state)),
)

/** Ignores a connection. */
export const dismiss = (state: Pick<State, 'meta'>, id: string): void =>
  state.meta.set(META, [...new Set([...all(state), id])])

/** Stops ignoring a connection, after the user approved an invitation to it. */
export function recallConnection(state: Meta, id: string): void {
  if (dismissed(state).has(id))
    state.meta.set(
      META,
      all(state).filter((one) => one !== id),
    )
}

/**
 * Checks whether leaving failed because this device cannot sign an entry.
 *
 * Either no entry can ever be valid, or the entry would follow a roster or key log that breaks a
 * rule. The second case may be permanent, if a dishonest server once showed entries only to this
 * device.
 */
export const isUnsignable = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.cause instanceof Refusal ||
    (error.code === 'invalid_state' &&
      ['roster_forked', 'changed_unverified'].includes(error.details.state ?? '')))
