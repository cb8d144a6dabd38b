/**
 * The name of an account in this device's responses (protocol, section 4a).
 *
 * The first of these that exists is used: the name that the user gave; the confirmed name, if the
 * keys are still confirmed; the name that the account signed; the name from the account server.
 */
import type { PersonName } from '../api/rest/names.ts'
import type { TrustCard } from '../api/rest/trust-cards.ts'
import { nameMarks } from '../crypto/encoding/display-names.ts'
import type { LocalNames } from '../state/names.ts'
import type { State } from '../state/state.ts'
import type { TrustRow } from '../state/trust.ts'

/** The state and the own account id. */
export interface Naming {
  readonly state: State
  readonly own: string
}

function isConfirmed({ trust }: State, account: string): boolean {
  const row = trust.get(account)
  return row !== null && keyStatusOf(row) === 'confirmed'
}

function chosen(
  state: State,
  account: string,
  names: LocalNames,
  fromServer: string,
): Pick<PersonName, 'display_name' | 'name_source'> {
  const { given, confirmed, self, accepted } = names
  if (given !== undefined) return { display_name: given, name_source: 'given' }
  if (confirmed !== undefined && isConfirmed(state, account))
    return { display_name: confirmed, name_source: 'confirmed' }
  if (self !== undefined) return { display_name: self, name_source: 'self' }
  return { display_name: accepted ?? fromServer, name_source: 'server' }
}

const marksOf = ({ state, own }: Naming, name: string, account: string) =>
  nameMarks(name, { has: (comparable) => state.names.isOthers(comparable, account, own) })

/**
 * Returns the name of an account.
 * @param fromServer the account server's name, used if this device has no other name
 */
export function nameOf(naming: Naming, account: string, fromServer: string): PersonName {
  const { state, own } = naming
  const names = state.names.of(account)
  if (account === own)
    return { display_name: names.self ?? fromServer, name_source: 'own', name_marks: [] }
  const name = chosen(state, account, names, fromServer)
  return { ...name, name_marks: marksOf(naming, name.display_name, account) }
}

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

/**
 * Returns the status of a trust card's keys. A refused key log counts as changed keys, because one
 * of the two histories is not the account's.
 */
export const keyStatusOf = ({
  refused,
  newest,
  pinned,
  confirmed,
}: TrustRow): TrustCard['key_status'] =>
  refused !== null || newest > pinned ? 'changed_unverified' : confirmed ? 'confirmed' : 'unchanged'
