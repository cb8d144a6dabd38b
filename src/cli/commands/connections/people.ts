/** What this account knows of the people in a connection besides the name that is shown. */
import { every } from '../../../api/cursor.ts'
import { calledOf, inQuotes } from '../../../api/name-text.ts'
import type { Member } from '../../../api/rest/connections.ts'
import { AppError } from '../../../errors.ts'
import type { Api } from '../../command.ts'

/** By account id: the names that people use themselves, and the addresses in invitations. */
interface KnownPeople {
  readonly ownNames: ReadonlyMap<string, string | null>
  readonly addresses: ReadonlyMap<string, string>
}

async function read(api: Api): Promise<KnownPeople> {
  const cards = await every((query) => api.trustCards.list(query))
  const { received, sent } = await api.invitations.list({})
  const parties = [...received.map(({ from }) => from), ...sent.map(({ to }) => to)]
  const addresses = parties.flatMap(({ user_id: id, email }) =>
    id === null || email === null ? [] : [[id, email] as const],
  )
  return {
    ownNames: new Map(cards.map((card) => [card.user_id, card.own_name])),
    addresses: new Map(addresses),
  }
}

/** Returns what is known of people. If it cannot be read now, they still have the shown names. */
export async function knownPeople(api: Api): Promise<KnownPeople> {
  try {
    return await read(api)
  } catch (error) {
    if (error instanceof AppError) return { ownNames: new Map(), addresses: new Map() }
    throw error
  }
}

/** Returns the address of a member; null if it is not known, or if it is the shown name. */
export const addressOf = (
  { user_id: id, display_name: name }: Member,
  { addresses }: KnownPeople,
): string | null => {
  const address = id === null ? null : (addresses.get(id) ?? null)
  return address === name ? null : address
}

/** Returns the name of a member with its source, and the member's own name if that differs. */
export function fullNameOf(member: Member, { ownNames }: KnownPeople): string {
  const { user_id: id, display_name: name } = member
  // An invited mailbox has no account yet. The name is the address.
  if (id === null) return name
  const own = ownNames.get(id) ?? name
  return own === name ? calledOf(member) : `${calledOf(member)} (calls itself ${inQuotes(own)})`
}
