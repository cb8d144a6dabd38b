/**
 * The name of an account in this device's responses (protocol, section 4a).
 *
 * The first of these that exists is used: the name that the user gave; the confirmed name, if the
 * keys are still confirmed; the name that the account signed; the name from the account server.
 */
import type { PersonName } from '../api/rest/names.ts'
import { nameMarks } from '../crypto/encoding/display-names.ts'
import { shownName } from '../state/names.ts'
import type { State } from '../state/state.ts'

/** The state and the own account id. */
export interface Naming {
  readonly state: State
  readonly own: string
}

const marksOf = ({ state, own }: Naming, name: string, account: string) =>
  nameMarks(name, { has: (comparable) => state.names.isOthers(comparable, account, own) })

/**
 * Returns the name of an account.
 * @param fromServer the account server's name, used if this device has no other name
 */
export function nameOf(naming: Naming, account: string, fromServer: string): PersonName {
  const { state, own } = naming
  if (account === own) {
    const { self } = state.names.of(account)
    return { display_name: self ?? fromServer, name_source: 'own', name_marks: [] }
  }
  const name = shownName(state, account, fromServer)
  return { ...name, name_marks: marksOf(naming, name.display_name, account) }
}

/** Returns a name that an account only claims for itself. */
export const claimedName = (naming: Naming, name: string, account: string): PersonName => ({
  display_name: name,
  name_source: 'self',
  name_marks: marksOf(naming, name, account),
})

/** Returns a guest's name, which is the label that the user gave. */
export const guestName = (naming: Naming, label: string): PersonName => ({
  display_name: label,
  name_source: 'given',
  name_marks: marksOf(naming, label, ''),
})

/**
 * Returns the name that an account signed, and whether its name changed.
 *
 * A changed name differs from the name that was confirmed or accepted here.
 * @param fromServer the name from the account server
 */
export function ownNameOf(
  { names }: State,
  account: string,
  fromServer: string,
): { own_name: string | null; name_changed: boolean } {
  const { self = null, confirmed, accepted } = names.of(account)
  const current = self ?? fromServer
  return { own_name: self, name_changed: current !== (confirmed ?? accepted ?? current) }
}
