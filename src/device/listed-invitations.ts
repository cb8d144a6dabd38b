/**
 * The inviter and the connection with which the account server listed an invitation. A person reads
 * them in a list and then approves by id, so a consent is signed for these alone: the server could
 * name others in between.
 */
import type { Invitation } from '../api/rest/invitations.ts'
import { LONGEST_INVITATION_S } from '../api/rest/presets.ts'
import { AppError } from '../errors.ts'
import type { Device } from './device.ts'

const DAY_MS = 24 * 3_600_000
/** How long they are kept after the last listing: longer than an invitation waits for an answer. */
const KEPT_MS = LONGEST_INVITATION_S * 1000 + 2 * DAY_MS
/** The most that are kept: a list has at most 500. */
const MOST = 10_000

/** What a consent to an invitation names. */
export interface ConsentTo {
  readonly connection: string
  /** The id of an account. */
  readonly inviter: string
}

interface Listed extends ConsentTo {
  /** The id of the invitation. */
  readonly id: string
}

type Listing = Pick<Device, 'state' | 'now' | 'demandSeat'>

export const isSame = (one: ConsentTo, other: ConsentTo): boolean =>
  one.connection === other.connection && one.inviter === other.inviter

/** Whether a received invitation may be approved; one that was approved already, again. */
export const isOpen = ({ state }: Pick<Invitation, 'state'>): boolean =>
  state === 'pending' || state === 'approved'

/** The error where the account server names an inviter or a connection other than `before`. */
export const otherInvitation = ({ connection, inviter }: ConsentTo): AppError =>
  new AppError(
    'backend_error',
    `The account server names another connection or inviter for this invitation than before (${connection}, ${inviter}): this device consented to nothing. The server may be dishonest. Decline the invitation, and have the inviter send you another one.`,
    { details: { state: 'other_invitation' } },
  )

/** Keeps one; whether anything was written. What it was listed with first stays. */
function keep({ state }: Listing, listed: Listed, listed_at: number): boolean {
  const known = state.listedInvitations.get(listed.id)
  const changed = known !== null && (known.changed || !isSame(known, listed))
  if (known?.listed_at === listed_at && known.changed === changed) return false
  state.listedInvitations.put({ ...listed, changed, listed_at })
  return true
}

/**
 * Remembers the inviter and the connection of invitations, as the account server names them.
 * @throws AppError not_signed_in when this device signed out meanwhile
 */
export function rememberListed(device: Listing, listed: readonly Listed[]): void {
  if (listed.length === 0) return
  device.demandSeat()
  const { state, now } = device
  // To the day, so that most lists write nothing.
  const today = Math.floor(now() / DAY_MS) * DAY_MS
  state.transaction(() => {
    // One after the other: a list may name one invitation twice.
    const kept = listed.filter((one) => keep(device, one, today))
    if (kept.length > 0) state.listedInvitations.drop(today - KEPT_MS, MOST)
  })
}

/**
 * Remembers the invitations of a list that can be approved.
 * @throws AppError not_signed_in when this device signed out meanwhile
 */
export function rememberReceived(device: Listing, received: readonly Invitation[]): void {
  const listed = received
    .filter(isOpen)
    .flatMap(({ id, connection_id: connection, from: { user_id: inviter } }) =>
      inviter === null ? [] : [{ id, connection, inviter }],
    )
  rememberListed(device, listed)
}

/**
 * The inviter and the connection with which an invitation was listed; undefined where it was not.
 * @throws AppError `backend_error` with `state` `other_invitation` where lists named different ones
 */
export function listedAs({ state }: Pick<Device, 'state'>, id: string): ConsentTo | undefined {
  const listed = state.listedInvitations.get(id)
  if (listed === null) return undefined
  if (listed.changed) throw otherInvitation(listed)
  return listed
}
