/**
 * Notices: facts about this device that the user should check.
 *
 * A notice stays until it is resolved or dismissed. `status` and `doctor` always show notices;
 * `sync` and `login` show them at the end. This module does not load the elliptic curve code.
 */
import { printableJson } from '../../crypto/encoding/quoted.ts'
import type { State } from '../../state/state.ts'
import { formerName } from '../identity/signed-name.ts'
import { FOREIGN_KEY, sayWhoSet, setElsewhere } from '../trust/recovery-notice.ts'

type Meta = Pick<State, 'meta'>

export interface Notice {
  readonly about: 'recovery' | 'name'
  readonly found: string
  /** The advice for the user. */
  readonly remedy: string
}

function ofRecoveryKey(state: Meta): Notice[] {
  const set = setElsewhere(state)
  if (set === null) return []
  const remedy = `If you set this recovery key yourself, run "countersignd recovery dismiss" on this device. If you did not: ${FOREIGN_KEY}`
  return [{ about: 'recovery', found: sayWhoSet(set), remedy }]
}

function ofFormerName(state: Meta): Notice[] {
  const former = formerName(state)
  if (former === null) return []
  return [
    {
      about: 'name',
      found: `This account has no signed name now. According to the account server, its previous name ${printableJson(former.name)} was signed by a device that is now revoked.`,
      // The command must not contain the name, because a thief may have chosen it.
      remedy: 'Sign your name: countersignd profile set --name NAME',
    },
  ]
}

/** Returns the notices of this device. */
export const noticesOf = (state: Meta): Notice[] => [
  ...ofRecoveryKey(state),
  ...ofFormerName(state),
]

/** Returns the notices of this device, each as one text. */
export const noticeTexts = (state: Meta): string[] =>
  noticesOf(state).map(({ found, remedy }) => `${found} ${remedy}`)
