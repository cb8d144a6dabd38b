/**
 * The inviter and the connection with which the account server listed an invitation. A person reads
 * them in a list and then approves by id, so a consent is signed for these alone: the server could
 * name others in between.
 *
 * A server that lists very many invitations makes the device forget some. Then one that is listed
 * anew may have been read before, with other names. So for a while after that, an approval rests only
 * on a list that the same caller got; without one it is refused once, and the refusal says what the
 * next try is for.
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
/** When some were last forgotten because there were more, in Unix milliseconds. */
const FORGOTTEN = 'listed_invitations_forgotten'

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

/** The caller of a list or an approval: the id of a token, null for the command line. */
export type Reader = string | null

/** The basis of an approval: a proof of what it is for, or the lists that its caller got. */
export type Basis = ConsentTo | { readonly reader: Reader }

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

/** The error where it is not known with which inviter and connection the caller read an invitation. */
const readAgain = ({ connection, inviter }: ConsentTo): AppError =>
  new AppError(
    'invalid_state',
    `The account server listed more than ${MOST} invitations, and this device forgot how it listed this one to you. It is now to connection ${connection}, from inviter ${inviter}. If you mean that one, approve it again.`,
    { details: { state: 'read_again' } },
  )

/** Whether some were forgotten that may still wait for an answer. */
function hasForgotten({ state, now }: Pick<Listing, 'state' | 'now'>): boolean {
  const at = state.meta.get(FORGOTTEN) as number | null
  return at !== null && Math.abs(now() - at) < KEPT_MS
}

const nameOf = (reader: Reader): string => reader ?? ''

/** Keeps one; whether anything was written. What it was listed with first stays. */
function keep(
  { state }: Listing,
  listed: Listed,
  { listed_at, reader }: { listed_at: number; reader: string | null },
): boolean {
  const known = state.listedInvitations.get(listed.id)
  const changed = known !== null && (known.changed || !isSame(known, listed))
  // A row from before any was forgotten is for every caller.
  const row = { changed, listed_at, reader: known?.reader === null ? null : reader }
  const isKept =
    known?.listed_at === listed_at && known.changed === changed && known.reader === row.reader
  if (isKept) return false
  state.listedInvitations.put({ ...listed, ...row })
  return true
}

/**
 * Remembers the inviter and the connection of invitations, as the account server names them.
 * @param reader the caller to whom they are shown
 * @throws AppError not_signed_in when this device signed out meanwhile
 */
export function rememberListed(device: Listing, listed: readonly Listed[], reader: Reader): void {
  if (listed.length === 0) return
  device.demandSeat()
  const { state, now } = device
  const rows = state.listedInvitations
  const at = now()
  // To the day, so that most lists write nothing.
  const today = Math.floor(at / DAY_MS) * DAY_MS
  state.transaction(() => {
    const isFull = hasForgotten(device) || rows.count() + listed.length > MOST
    // Where some are forgotten, those of this list stay longest, also if the clock went back.
    const as = isFull
      ? { listed_at: Math.max(at, rows.newest() + 1), reader: nameOf(reader) }
      : { listed_at: today, reader: null }
    // One after the other: a list may name one invitation twice.
    const kept = listed.filter((one) => keep(device, one, as))
    if (kept.length === 0) return
    rows.dropOld(today - KEPT_MS)
    if (rows.dropBeyond(MOST) > 0) state.meta.set(FORGOTTEN, at)
  })
}

/**
 * Remembers the invitations of a list that can be approved.
 * @param reader the caller to whom they are shown
 * @throws AppError not_signed_in when this device signed out meanwhile
 */
export function rememberReceived(
  device: Listing,
  received: readonly Invitation[],
  reader: Reader,
): void {
  const listed = received
    .filter(isOpen)
    .flatMap(({ id, connection_id: connection, from: { user_id: inviter } }) =>
      inviter === null ? [] : [{ id, connection, inviter }],
    )
  rememberListed(device, listed, reader)
}

/**
 * The inviter and the connection with which an invitation was listed; undefined where it was not.
 * @param reader the caller who approves it
 * @throws AppError `backend_error` with `state` `other_invitation` where lists named different ones;
 *   `invalid_state` with `state` `read_again` once where it may have been listed to this caller with
 *   others, which were forgotten
 */
export function listedAs(
  { state }: Pick<Device, 'state'>,
  id: string,
  reader: Reader,
): ConsentTo | undefined {
  const listed = state.listedInvitations.get(id)
  if (listed === null) return undefined
  if (listed.changed) throw otherInvitation(listed)
  if (listed.reader === null || listed.reader === nameOf(reader)) return listed
  // The refusal shows it to this caller.
  state.listedInvitations.put({ ...listed, reader: nameOf(reader) })
  throw readAgain(listed)
}

/**
 * Remembers an invitation that is approved without a list, as the account server names it.
 * @param reader the caller who approves it
 * @throws AppError `invalid_state` with `state` `read_again` once where it may have been listed and
 *   forgotten; not_signed_in when this device signed out meanwhile
 */
export function rememberUnlisted(device: Listing, named: Listed, reader: Reader): void {
  const mayBeForgotten = hasForgotten(device)
  rememberListed(device, [named], reader)
  if (mayBeForgotten) throw readAgain(named)
}
