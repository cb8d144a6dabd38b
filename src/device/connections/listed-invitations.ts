/**
 * Stores which inviter and connection the account server named when it listed an invitation.
 *
 * The user reads both in a list and then approves by id. The device signs a consent for exactly
 * these two, because the server could name others between the list and the approval.
 *
 * If a server lists more than 10,000 invitations, the device deletes the oldest rows. A newly
 * listed invitation may then have been listed before with other names. So until the deleted rows
 * would have expired, the first approval by each caller is rejected. The error names the connection
 * and the inviter that a second approval would consent to.
 */
import type { Invitation } from '../../api/rest/invitations.ts'
import { LONGEST_INVITATION_S } from '../../api/rest/presets.ts'
import { AppError } from '../../errors.ts'
import type { DeviceContext } from '../context.ts'

const DAY_MS = 24 * 3_600_000
/**
 * How long a row is kept after its last listing, in milliseconds. Longer than an invitation stays
 * open.
 */
const KEPT_MS = LONGEST_INVITATION_S * 1000 + 2 * DAY_MS
/** The maximum number of rows. One list has at most 500 invitations. */
const MOST = 10_000
/** Key in `meta`: when rows were last deleted because of `MOST`, in Unix milliseconds. */
const FORGOTTEN = 'listed_invitations_forgotten'

/** The connection and the inviter that a consent names. */
interface ConsentTo {
  readonly connection: string
  /** Account id. */
  readonly inviter: string
}

interface Listed extends ConsentTo {
  /** Invitation id. */
  readonly id: string
}

/** The caller of an approval: the id of a token, or null for the command line. */
type Reader = string | null

/**
 * What an approval is compared with: a proven connection and inviter, or those listed for a caller.
 */
export type Basis = ConsentTo | { readonly reader: Reader }

type Listing = Pick<DeviceContext, 'state' | 'now' | 'requireSession'>

export const isSame = (one: ConsentTo, other: ConsentTo): boolean =>
  one.connection === other.connection && one.inviter === other.inviter

/** Checks whether a received invitation can be approved, for the first time or again. */
export const isOpen = ({ state }: Pick<Invitation, 'state'>): boolean =>
  state === 'pending' || state === 'approved'

/** Returns the error for a server that names another inviter or connection than before. */
export const otherInvitation = ({ connection, inviter }: ConsentTo): AppError =>
  new AppError(
    'backend_error',
    `The account server names another connection or inviter for this invitation (${connection}, ${inviter}) than before. Nothing was approved. The server may be dishonest. Decline the invitation, and ask the inviter to send another one.`,
    { details: { state: 'other_invitation' } },
  )

/** Returns the error that asks the caller to read the invitation again before approving it. */
const readAgain = ({ connection, inviter }: ConsentTo): AppError =>
  new AppError(
    'invalid_state',
    `The account server listed more than ${MOST} invitations, so this device no longer has the data that it showed you for this invitation. The invitation is for connection ${connection}, from inviter ${inviter}. Nothing was approved. If you want to approve this invitation, approve it again.`,
    { details: { state: 'read_again' } },
  )

/** Checks whether rows of invitations that may still be open were deleted. */
function hasForgotten({ state, now }: Pick<Listing, 'state' | 'now'>): boolean {
  const at = state.meta.get(FORGOTTEN) as number | null
  return at !== null && Math.abs(now() - at) < KEPT_MS
}

const nameOf = (reader: Reader): string => reader ?? ''

/** The reader of a row that no error has shown to a caller yet. */
const NOBODY = '-'
/** Stored if the account server names no inviter. No later response matches it. */
const NO_INVITER = 'unknown'

/**
 * Stores one listed invitation. If it is stored already, keeps the first connection and inviter.
 * @returns whether a row was written
 */
function keep(
  { state }: Listing,
  listed: Listed,
  { listed_at, reader: first }: { listed_at: number; reader: string | null },
): boolean {
  const known = state.listedInvitations.get(listed.id)
  const changed = known !== null && (known.changed || !isSame(known, listed))
  if (known?.listed_at === listed_at && known.changed === changed) return false
  // Keeps the reader. Otherwise a program that lists repeatedly would reset it each time.
  const reader = known === null ? first : known.reader
  state.listedInvitations.put({ ...listed, changed, listed_at, reader })
  return true
}

/**
 * Stores the inviter and the connection of each invitation as the account server lists them.
 * @throws AppError not_signed_in if this device signed out in the meantime
 */
function rememberListed(device: Listing, listed: readonly Listed[]): void {
  if (listed.length === 0) return
  device.requireSession()
  const { state, now } = device
  const rows = state.listedInvitations
  const at = now()
  // Rounded down to the day, so that most lists write nothing.
  const today = Math.floor(at / DAY_MS) * DAY_MS
  state.transaction(() => {
    const isFull = hasForgotten(device) || rows.count() + listed.length > MOST
    // If rows must be deleted, the rows of this list must be the newest, even if the clock went
    // back.
    const as = isFull
      ? { listed_at: Math.max(at, rows.newest() + 1), reader: NOBODY }
      : { listed_at: today, reader: null }
    // One at a time, because a list may name an invitation twice.
    const stored = listed.filter((one) => keep(device, one, as))
    if (stored.length === 0) return
    rows.dropOld(today - KEPT_MS)
    if (rows.dropBeyond(MOST) > 0) state.meta.set(FORGOTTEN, at)
  })
}

/**
 * Stores those invitations of a list that can be approved.
 * @throws AppError not_signed_in if this device signed out in the meantime
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
 * Returns the inviter and the connection with which an invitation was listed, if it was.
 * @param reader the caller who approves it
 * @throws AppError `backend_error` with `state` `other_invitation` if lists named different ones;
 *   `invalid_state` with `state` `read_again` once for each caller if an earlier listing with
 *   other names may have been deleted
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
  // The error shows the row to this caller, so the caller may approve it next time.
  state.listedInvitations.put({ ...listed, reader: nameOf(reader) })
  throw readAgain(listed)
}

/**
 * Stores an invitation that is approved without a prior list, as the account server names it.
 * @param reader the caller who approves it
 * @throws AppError as `listedAs` does, also if a list arrived in the meantime; not_signed_in if
 *   this device signed out in the meantime
 */
export function rememberUnlisted(device: Listing, named: Listed, reader: Reader): void {
  const rows = device.state.listedInvitations
  const isAlone = rows.get(named.id) === null && !hasForgotten(device)
  rememberListed(device, [named])
  const row = rows.get(named.id)!
  if (isAlone) rows.put({ ...row, reader: null })
  else listedAs(device, named.id, reader)
}
