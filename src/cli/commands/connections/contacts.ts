/** The contacts that the user can call: active connections and guests. */
import { every } from '../../../api/cursor.ts'
import type { GuestCode } from '../../../api/rest/guest-codes.ts'
import { ID_PREFIX } from '../../../crypto/encoding/id.ts'
import { noSuch } from '../../by-id.ts'
import type { Api } from '../../command.ts'

export interface Callee {
  readonly kind: 'connection' | 'guest'
  readonly id: string
  /** The name of the connection, or the label of the guest. */
  readonly name: string
  /** The external member who gets the guest code; null if there is none. */
  readonly externalMember: string | null
}

/** A contact, and the own words for a guest; a connection's words need another request. */
export interface ListedCallee extends Callee {
  readonly code: GuestCode['code']
}

/** Returns the contacts: connections first, newest first. */
export async function contactsOf(api: Api): Promise<ListedCallee[]> {
  const connections = await every((query) => api.connections.list({ ...query, state: 'active' }))
  const guests = await every((query) => api.guestCodes.list({ ...query, state: 'active' }))
  return [
    ...connections.map(({ id, name }): ListedCallee => ({
      kind: 'connection',
      id,
      name,
      externalMember: null,
      code: null,
    })),
    ...guests.map(({ id, label, external_member_id, code }): ListedCallee => ({
      kind: 'guest',
      id,
      name: label,
      externalMember: external_member_id,
      code,
    })),
  ]
}

/**
 * Returns the contact with an id.
 * @throws AppError `not_found`
 */
export async function contactWithId(api: Api, id: string): Promise<Callee> {
  const contact = (await contactsOf(api)).find((one) => one.id === id)
  if (contact === undefined)
    throw noSuch(id.startsWith(ID_PREFIX.guest) ? 'guest code' : 'connection')
  return contact
}

/** Returns the telephone number that the user stored for a contact; null if there is none. */
export async function phoneOf(api: Api, { externalMember }: Callee): Promise<string | null> {
  if (externalMember === null) return null
  const people = await every((query) => api.externalMembers.list(query))
  return people.find(({ id }) => id === externalMember)?.phone ?? null
}
