/**
 * The notice that another device set the recovery key in force. A thief with an unlocked device
 * can set one, and it stays in force when that device is revoked. This module is apart from the
 * key log, which loads the curves.
 */
import { timeAt } from '../../api/fields.ts'
import { printableJson } from '../../crypto/encoding/quoted.ts'
import type { State } from '../../state/state.ts'

const LOOK = 'recovery_look'
const SEEN = 'recovery_seen'

type Meta = Pick<State, 'meta'>

/** The recovery key in force, set by a device of the newest generation. */
export interface SetKey {
  /** `x` of its JWK. */
  readonly key: string
  readonly device: string
  /** The name of the device at the account server; null where the server no longer lists it. */
  readonly name: string | null
  /** When it was set, Unix milliseconds: between the last good sync and the one that found it. */
  readonly at: number
  readonly revoked: boolean
}

/** The result of the last look at the own key log. */
interface RecoveryLook {
  /** The place of the newest entry at that time. */
  readonly seq: number
  /** null where no device, or this one, set the key in force. */
  readonly set: SetKey | null
}

/** Returns the result of the last look; null before the first. */
export const recoveryLook = ({ meta }: Meta): RecoveryLook | null =>
  meta.get(LOOK) as RecoveryLook | null

/** Stores the result of a look. */
export const keepRecoveryLook = ({ meta }: Meta, look: RecoveryLook): void => meta.set(LOOK, look)

/**
 * Returns the key that another device set, until the user dismisses the notice here; else null.
 */
export function setElsewhere(state: Meta): SetKey | null {
  const set = recoveryLook(state)?.set ?? null
  return set === null || state.meta.get(SEEN) === set.key ? null : set
}

/**
 * Dismisses the notice: the user confirms that they set the key. A key that is set later is
 * reported again.
 */
export function dismissSetKey(state: Meta): void {
  const set = setElsewhere(state)
  if (set !== null) state.meta.set(SEEN, set.key)
}

/**
 * The remedy for a recovery key that is not the user's. Only a signature by that key replaces it.
 * A reset without it begins a generation that it does not link. Contacts who are still pinned to
 * the previous generation would accept a reset with it.
 */
export const FOREIGN_KEY =
  'Anyone with its words and access to your mailbox can replace all your devices, and your contacts would accept that. Secure the mailbox. Then, on a device that you want to keep, run "countersignd logout" and "countersignd reset" without --recovery-key, make a recovery key of your own ("countersignd recovery create"), and compare the safety number with each contact. A contact who has confirmed your new keys no longer accepts the other words.'

/** Returns a sentence that names the device that set a key, and the date. */
export const sayWhoSet = ({ device, name, at, revoked }: SetKey): string =>
  `The device ${name === null ? device : `${printableJson(name)} (${device})`} set a recovery key on ${timeAt(at).slice(0, 10)}${revoked ? ', and has since been revoked. The key is still in force' : ''}.`
