/** The people whom the user can call: connections with another member, and guests. */
import { every } from '../../../api/cursor.ts'
import { inQuotes } from '../../../api/name-text.ts'
import type { GuestCode } from '../../../api/rest/guest-codes.ts'
import { AppError } from '../../../errors.ts'
import type { Api } from '../../command.ts'

export interface Callee {
  readonly kind: 'connection' | 'guest'
  readonly id: string
  /** The name of the connection, or the label of the guest. */
  readonly name: string
}

/** A contact, and the own words for a guest; a connection's words need another request. */
export interface ListedCallee extends Callee {
  readonly code: GuestCode['code']
  /** Other names that the user gave: of the other members, or of the guest's external member. */
  readonly also: readonly string[]
}

/** Returns the contacts: connections first, newest first. */
export async function contactsOf(api: Api): Promise<ListedCallee[]> {
  const connections = await every((query) => api.connections.list({ ...query, state: 'active' }))
  const guests = await every((query) => api.guestCodes.list({ ...query, state: 'active' }))
  return [
    ...connections.map(({ id, name, kind, members }): ListedCallee => {
      // In a group, the words of any member would verify.
      const others = kind === 'direct' ? members : []
      const given = others.filter(({ name_source: source }) => source === 'given')
      return {
        kind: 'connection',
        id,
        name,
        code: null,
        also: given.map(({ display_name }) => display_name),
      }
    }),
    ...guests.map(({ id, label, code, external_member: external }): ListedCallee => {
      const also = external === null ? [] : [external.display_name]
      return { kind: 'guest', id, name: label, code, also }
    }),
  ]
}

const folded = (text: string): string => text.normalize('NFKC').trim().toLowerCase()

const listOf = (title: string, contacts: readonly Callee[]): string =>
  contacts.length === 0
    ? ''
    : ` ${title}: ${contacts.map(({ id, name }) => `${inQuotes(name)} (${id})`).join(', ')}.`

const everyone = (contacts: readonly Callee[]): string =>
  listOf(
    'Guests',
    contacts.filter(({ kind }) => kind === 'guest'),
  ) +
  listOf(
    'Connections',
    contacts.filter(({ kind }) => kind === 'connection'),
  )

/**
 * Returns the contact with an id or a name. Case is ignored.
 * @throws AppError `not_found` if no contact or several have the name; the message lists them
 */
export async function contactNamed(api: Api, text: string): Promise<Callee> {
  const contacts = await contactsOf(api)
  const byName = (names: (contact: ListedCallee) => readonly string[]) =>
    contacts.filter((contact) => names(contact).some((name) => folded(name) === folded(text)))
  const own = byName(({ id, name }) => [id, name])
  const found = own.length > 0 ? own : byName(({ also }) => also)
  const [contact] = found
  if (contact !== undefined && found.length === 1) return contact
  throw new AppError(
    'not_found',
    found.length > 1
      ? `Several contacts are called ${inQuotes(text)}. Give an id.${everyone(found)}`
      : `No one here is called ${inQuotes(text)}.${everyone(contacts)}`,
  )
}
