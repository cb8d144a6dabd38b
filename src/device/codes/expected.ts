/**
 * The speakers that a check expects, resolved to connections or to a guest code. Only these
 * speakers' words are checked.
 */
import { inQuotes, someoneOf } from '../../api/name-text.ts'
import type { Expectation } from '../../api/rest/verify.ts'
import { AppError } from '../../errors.ts'
import type { ConnectionRow, NamedMember } from '../../state/connections.ts'
import type { State } from '../../state/state.ts'
import { type OpenChallenge, unknownConnection } from './challenges.ts'
import { nameOf } from '../names.ts'

export interface Expected {
  /** Ids of connections, or of the one guest code. */
  readonly subjects: readonly string[]
  /** The one expected member; null for any member. */
  readonly user: string | null
  /** The beginning of a sentence about the words, such as `a member of "Bank" says`. */
  readonly says: string
  /** The negated beginning: `no member of "Bank" says`. */
  readonly saysNot: string
  /** Whether all of the connections were ended by an owner, so that their words prove nothing. */
  readonly isEnded: boolean
  /** The challenge that the words must answer; null for words that are for all listeners. */
  readonly challenge: OpenChallenge | null
}

const isEnded = ({ hold }: ConnectionRow) => hold === 'ended'

/**
 * Returns the speakers that an expectation names.
 * @param account the own account id
 * @throws AppError not_found if the connection, the member or an active guest code is not stored on
 *   this device
 */
export function expectedBy(
  state: State,
  account: string,
  expect: Expectation,
  now: number,
): Expected {
  if ('connection_id' in expect) return anyMember(state, expect.connection_id)
  return 'user_id' in expect
    ? oneMember(state, account, expect.user_id)
    : oneGuest(state, expect.guest_code_id, now)
}

/**
 * Returns the speakers who may answer a challenge.
 * @param candidates the connections to check if the challenge is for any connection
 * @throws AppError not_found if the connection is no longer stored on this device
 */
export function expectedForChallenge(
  state: State,
  challenge: OpenChallenge,
  candidates: readonly string[],
): Expected {
  if (challenge.connection !== null) return { ...anyMember(state, challenge.connection), challenge }
  return {
    subjects: candidates,
    user: null,
    says: 'a contact of yours has',
    saysNot: 'no contact of yours has',
    isEnded: false,
    challenge,
  }
}

function anyMember({ connections }: State, id: string): Expected {
  const row = connections.get(id)
  if (row === null) throw unknownConnection()
  return {
    subjects: [id],
    user: null,
    says: `a member of ${inQuotes(row.name)} says`,
    saysNot: `no member of ${inQuotes(row.name)} says`,
    isEnded: isEnded(row),
    challenge: null,
  }
}

function oneGuest({ guests }: State, id: string, now: number): Expected {
  const row = guests.get(id)
  if (row?.state !== 'active' || row.expires_at <= now)
    throw new AppError(
      'not_found',
      'No active guest code on this device has this id. GET /api/v1/guest-codes ("countersignd guest list") lists guest codes.',
    )
  const called = `guest ${inQuotes(row.label)}`
  return {
    subjects: [id],
    user: null,
    says: `${called} says`,
    saysNot: `${called} does not say`,
    isEnded: false,
    challenge: null,
  }
}

function oneMember(state: State, account: string, user: string): Expected {
  const { connections } = state
  const isExpected = ({ user_id }: NamedMember) => user_id === user
  const rows = connections
    .withMember(user)
    .map((id) => connections.get(id))
    .filter((row) => row !== null)
    .filter(({ members }) => members.some(isExpected))
  const member = rows[0]?.members.find(isExpected)
  if (member === undefined || user === account)
    throw new AppError(
      'not_found',
      'No connection on this device has another member with this id. GET /api/v1/connections ("countersignd connection list") lists connections with their members.',
    )
  const called = someoneOf(nameOf({ state, own: account }, user, member.display_name))
  return {
    subjects: rows.map(({ id }) => id),
    user,
    says: `${called} says`,
    saysNot: `${called} does not say`,
    isEnded: rows.every(isEnded),
    challenge: null,
  }
}
