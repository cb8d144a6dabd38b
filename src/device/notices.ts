/**
 * What the person should look at on this device: each stays until it is settled or dismissed. `status`
 * and `doctor` show them, `sync` and `login` after their work.
 */
import { printableJson } from '../crypto/quoted.ts'
import type { State } from '../state/state.ts'
import { formerName } from './name-to-sign.ts'

type Meta = Pick<State, 'meta'>

function ofFormerName(state: Meta): string[] {
  const former = formerName(state)
  if (former === null) return []
  // No command that contains the name: a thief may have chosen it.
  return [
    `Nobody sees a signed name of this account now. As the account server shows it, the former name was ${printableJson(former.name)}, signed by a device that is revoked. Sign your name: countersignd profile set --name NAME.`,
  ]
}

/** The notices of this device, one text each; no curve is loaded for them. */
export const noticesOf = (state: Meta): string[] => ofFormerName(state)
