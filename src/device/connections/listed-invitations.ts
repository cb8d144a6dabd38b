/**
 * The inviter and the connection with which the account server listed an invitation. A person reads
 * them in a list and then approves by id, so a consent is signed for these alone: the server could
 * name others in between.
 *
 * A server that lists very many invitations makes the device forget some. Then one that is listed
 * anew may have been read before, with other names. So for a while after that, the first approval of
 * each caller is refused, and the refusal says what the next one is for.
 */
import type { Invitation } from '../../api/rest/invitations.ts'
import { LONGEST_INVITATION_S } from '../../api/rest/presets.ts'
import { AppError } from '../../errors.ts'
import type { DeviceContext } from '../context.ts'

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

/** The caller of an approval: the id of a token, null for the command line. */
export type Reader = string | null

/** The basis of an approval: a proof of what it is for, or what was listed and its caller. */
export type Basis = ConsentTo | { readonly reader: Reader }

type Listing = Pick<DeviceContext, 'state' | 'now' | 'demandSeat'>

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

/** The reader of what no caller was shown by a refusal. */
const NOBODY = '-'
/** The inviter where the account server names none; no answer of it fits that. */
const NO_INVITER = 'unknown'

/** Keeps one; whether anything was written. What it was listed with first stays. */
function keep(
  { state }: Listing,
  listed: Listed,
  { listed_at, reader: first }: { listed_at: number; reader: string | null },
): boolean {
  const known = state.listedInvitations.get(listed.id)
  const changed = known !== null && (known.changed || !isSame(known, listed))
  if (known?.listed_at === listed_at && known.changed === changed) return false
  // A list changes no reader: programs that list again and again would take it away.
  const reader = known === null ? first : known.reader
  state.listedInvitations.put({ ...listed, changed, listed_at, reader })
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
  const rows = state.listedInvitations
  const at = now()
  // To the day, so that most lists write nothing.
  const today = Math.floor(at / DAY_MS) * DAY_MS
  state.transaction(() => {
    const isFull = hasForgotten(device) || rows.count() + listed.length > MOST
    // Where some are forgotten, those of this list stay longest, also if the clock went back.
    const as = isFull
      ? { listed_at: Math.max(at, rows.newest() + 1), reader: NOBODY }
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
 * @throws AppError not_signed_in when this device signed out meanwhile
 */
export function rememberReceived(device: Listing, received: readonly Invitation[]): void {
  const listed = received
    .filter(isOpen)
    .map(({ id, connection_id: connection, from: { user_id: inviter } }) => {
      return { id, connection, inviter: inviter ?? NO_INVITER }
    })
  rememberListed(device, listed)
}

/**
 * The inviter and the connection with which an invitation was listed; undefined where it was not.
 * @param reader the caller who approves it
 * @throws AppError `backend_error` with `state` `other_invitation` where lists named different ones;
 *   `invalid_state` with `state` `read_again` once for each caller where it may have been listed with
 *   others, which were forgotten
 */
export function listedAs(
  { state }: Pick<DeviceContext, 'state'>,
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
 * @throws AppError as `listedAs` does, where a list came meanwhile too; not_signed_in when this
 *   device signed out meanwhile
 */
export function rememberUnlisted(device: Listing, named: Listed, reader: Reader): void {
  const rows = device.state.listedInvitations
  const isAlone = rows.get(named.id) === null && !hasForgotten(device)
  rememberListed(device, [named])
  const row = rows.get(named.id)!
  if (isAlone) rows.put({ ...row, reader: null })
  else listedAs(device, named.id, reader)
}
