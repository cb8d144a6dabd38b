/** The speakers that a request expects, resolved to connections: only their words are checked. */
import type { Expectation } from '../api/rest/verify.ts'
import { AppError } from '../errors.ts'
import type { ConnectionRow, Member } from '../state/connections.ts'
import type { State } from '../state/state.ts'

export interface Expected {
  /** Ids of connections. */
  readonly connections: readonly string[]
  /** The one member who is expected; null for any member. */
  readonly user: string | null
  /** A sentence up to what is said: `Bob says`, `a member of "Bank" says`. */
  readonly says: string
  /** The same denied: `Bob does not say`, `no member of "Bank" says`. */
  readonly saysNot: string
  /** Whether owners ended all of the connections: no words of them prove anything. */
  readonly isEnded: boolean
}

const isEnded = ({ hold }: ConnectionRow) => hold === 'ended'

/**
 * The connections that an expectation names.
 * @param account the own account id
 * @throws AppError not_found for a connection, or a member, that this device does not know
 */
export function expectedBy(state: State, account: string, expect: Expectation): Expected {
  return 'connection_id' in expect
    ? anyMember(state, expect.connection_id)
    : oneMember(state, account, expect.user_id)
}

function anyMember({ connections }: State, id: string): Expected {
  const row = connections.get(id)
  if (row === null)
    throw new AppError(
      'not_found',
      'This device knows no such connection. GET /api/v1/connections lists those of the account.',
    )
  return {
    connections: [id],
    user: null,
    says: `a member of "${row.name}" says`,
    saysNot: `no member of "${row.name}" says`,
    isEnded: isEnded(row),
  }
}

function oneMember({ connections }: State, account: string, user: string): Expected {
  const isExpected = ({ user_id }: Member) => user_id === user
  const rows = connections
    .withMember(user)
    .map((id) => connections.get(id))
    .filter((row) => row !== null)
    .filter(({ members }) => members.some(isExpected))
  const member = rows[0]?.members.find(isExpected)
  if (member === undefined || user === account)
    throw new AppError(
      'not_found',
      'No connection on this device has another member with this id. GET /api/v1/connections lists connections with their members.',
    )
  return {
    connections: rows.map(({ id }) => id),
    user,
    says: `${member.display_name} says`,
    saysNot: `${member.display_name} does not say`,
    isEnded: rows.every(isEnded),
  }
}
