/** Replaces names that the account server returned with the names stored on this device. */
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import type { Invitation, Party } from '../api/rest/invitations.ts'
import type { PersonName } from '../api/rest/names.ts'
import type { LocalDevice } from '../device/device.ts'
import { isOpen } from '../device/connections/listed-invitations.ts'
import { type Naming, nameOf } from '../device/names.ts'

export const namingOf = ({ state, identity }: Pick<LocalDevice, 'state' | 'identity'>): Naming => ({
  state,
  own: identity.account,
})

/**
 * Returns a function that names accounts. It looks up each account once; use it for one response.
 */
function namesFor(device: LocalDevice): (account: string, fromServer: string) => PersonName {
  const naming = namingOf(device)
  const known = new Map<string, PersonName>()
  return (account, fromServer) => {
    const name = known.get(account) ?? nameOf(naming, account, fromServer)
    known.set(account, name)
    return name
  }
}

/** Returns connections with the members' names as stored on this device. */
export function namedConnections(
  connections: readonly Connection[],
  device: LocalDevice | null,
): Connection[] {
  if (device === null) return [...connections]
  const called = namesFor(device)
  return connections.map((connection) => ({
    ...connection,
    members: connection.members.map((member) =>
      member.user_id === null
        ? member
        : { ...member, ...called(member.user_id, member.display_name) },
    ),
  }))
}

function namedParty(party: Party, naming: Naming): Party {
  const { user_id, display_name } = party
  return user_id === null
    ? party
    : { ...party, ...nameOf(naming, user_id, display_name ?? user_id) }
}

/** Returns invitations with both sides' names as stored on this device. */
export async function namedInvitations(
  invitations: readonly Invitation[],
  device: LocalDevice | null,
  account: Account,
): Promise<Invitation[]> {
  if (device === null) return [...invitations]
  const inviters = invitations
    .filter((one) => one.direction === 'received' && isOpen(one))
    .map(({ from }) => from.user_id)
    .filter((id) => id !== null)
  await device.inviterNames.fetch(account, inviters)
  const naming = namingOf(device)
  return invitations.map((one) => ({
    ...one,
    from: namedParty(one.from, naming),
    to: namedParty(one.to, naming),
  }))
}

/** Returns one invitation, as `namedInvitations` does. */
export async function namedInvitation(
  invitation: Invitation,
  device: LocalDevice | null,
  account: Account,
): Promise<Invitation> {
  const [named] = await namedInvitations([invitation], device, account)
  return named!
}
