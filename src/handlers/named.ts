/** Replaces names that the account server returned with the names stored on this device. */
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import type { Invitation, Party } from '../api/rest/invitations.ts'
import type { PersonName } from '../api/rest/names.ts'
import type { LocalDevice } from '../device/device.ts'
import { isOpen } from '../device/connections/listed-invitations.ts'
import { type Naming, nameOf } from '../device/names.ts'
import { derived } from '../state/derived.ts'
import type { State } from '../state/state.ts'

export const namingOf = ({ state, identity }: Pick<LocalDevice, 'state' | 'identity'>): Naming => ({
  state,
  own: identity.account,
})

/** The maximum number of cached names. */
const MOST_NAMES = 10_000

/** Returns the names that were looked up since the last change of the state. */
const knownNames = derived<State, Map<string, PersonName>>(() => new Map())

/** Returns a function that names accounts. It looks up each account once after a change. */
function namesFor(device: LocalDevice): (account: string, fromServer: string) => PersonName {
  const naming = namingOf(device)
  const known = knownNames(device.state)
  if (known.size > MOST_NAMES) known.clear()
  return (account, fromServer) => {
    const key = `${account} ${fromServer}`
    const name = known.get(key) ?? nameOf(naming, account, fromServer)
    known.set(key, name)
    return name
  }
}

/** Returns a function that gives members of connections their names as stored on this device. */
export function membersNamer(
  device: LocalDevice,
): (members: Connection['members']) => Connection['members'] {
  const called = namesFor(device)
  return (members) =>
    members.map((member) =>
      member.user_id === null
        ? member
        : { ...member, ...called(member.user_id, member.display_name) },
    )
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
