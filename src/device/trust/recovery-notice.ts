/**
 * The notice that another device set the current recovery key.
 *
 * A thief with an unlocked device can set a recovery key, which stays valid after the device is
 * revoked. This module does not use the key log, so it does not load the elliptic curve code.
 */
import { timeAt } from '../../api/fields.ts'
import { printableJson } from '../../crypto/encoding/quoted.ts'
import type { State } from '../../state/state.ts'

const LOOK = 'recovery_look'
const SEEN = 'recovery_seen'

type Meta = Pick<State, 'meta'>

/** The current recovery key, set by a device of the newest generation. */
export interface SetKey {
  /** `x` of its JWK. */
  readonly key: string
  readonly device: string
  /** The device's name at the account server; null if the server no longer lists the device. */
  readonly name: string | null
  /**
   * When it was set, Unix milliseconds: between the last successful sync and the sync that found
   * it.
   */
  readonly at: number
  readonly revoked: boolean
}

/** The result of the last check of the own key log. */
interface RecoveryLook {
  /** The seq of the log's newest entry at that time. */
  readonly seq: number
  /** Null if there is no recovery key, or if this device set it. */
  readonly set: SetKey | null
}

/** Returns the result of the last check; null if there was none. */
export const recoveryLook = ({ meta }: Meta): RecoveryLook | null =>
  meta.get(LOOK) as RecoveryLook | null

/** Stores the result of a check. */
export const keepRecoveryLook = ({ meta }: Meta, check: RecoveryLook): void => meta.set(LOOK, check)

/**
 * Returns the recovery key that another device set; null if there is none.
 *
 * Also null if the user dismissed the notice about it.
 */
export function setElsewhere(state: Meta): SetKey | null {
  const set = recoveryLook(state)?.set ?? null
  return set === null || state.meta.get(SEEN) === set.key ? null : set
}

/**
 * Dismisses the notice, because the user confirmed that they set the key. A later key is reported
 * again.
 */
export function dismissSetKey(state: Meta): void {
  const set = setElsewhere(state)
  if (set !== null) state.meta.set(SEEN, set.key)
}

/**
 * The remedy for a recovery key that the user did not set.
 *
 * Only a signature by the current recovery key can replace that key. A reset without the key begins
 * a generation that the key does not link to the previous one. Contacts who have reviewed only the
 * keys of the previous generation would accept a reset with the key.
 */
export const FOREIGN_KEY =
  'A person with the words of this key and access to your mailbox can replace all your devices, and your contacts would accept the new devices. Secure the mailbox. Then, on a device that you want to keep, run "countersignd logout" and "countersignd reset" without --recovery-key, create a recovery key of your own ("countersignd recovery create"), and compare the safety number with each contact. Contacts who have confirmed your new keys no longer accept the words of this key.'

/** Returns a sentence that names the device that set a recovery key, and the date. */
export const sayWhoSet = ({ device, name, at, revoked }: SetKey): string =>
  `The device ${name === null ? device : `${printableJson(name)} (${device})`} set a recovery key on ${timeAt(at).slice(0, 10)}${revoked ? ', and has since been revoked. The key is still in force' : ''}.`
