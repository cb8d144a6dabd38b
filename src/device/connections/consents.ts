/**
 * Consents: this device signs that an inviter may add the account to a connection.
 *
 * The device signs when the user approves an invitation, and stores what it signed. If the account
 * was added by a consent that was withdrawn or is older than 30 days, the device leaves the
 * connection. It never signs a `leave` only because the account server claims something; then the
 * user decides.
 * @see protocol, section 4
 */
import type { Account } from '../../api/port.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { signConsent } from '../../crypto/logs/consent.ts'
import { lastConsentOf, type Roster } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { ConsentRow } from '../../state/invitations.ts'
import type { State } from '../../state/state.ts'
import type { DeviceContext } from '../context.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'
import { revokedConsenter, rememberedRoster } from '../logs/roster-cache.ts'
import { dropUnagreed } from '../logs/refused-connections.ts'
import { recallConnection } from './ignored-connections.ts'
import {
  type Basis,
  isSame,
  listedAs,
  otherInvitation,
  rememberUnlisted,
} from './listed-invitations.ts'
import { leaveOrEnd } from './members.ts'
import type { Signing } from './roster-entries.ts'

const LONGEST_MS = 30 * 24 * 3_600_000

const nameOf = (consent: string) => encodeBase64url(entryHash(consent))

type Approving = Pick<DeviceContext, 'state' | 'identity' | 'now' | 'requireSession'>

/**
 * Returns the connection, inviter and roster head that the account server wants in a consent.
 *
 * If this device has not stored the invitation yet, stores this response, so that a repetition is
 * compared with it.
 */
async function wantedFor(device: Approving, account: Account, invitation: string, basis: Basis) {
  const expected = 'reader' in basis ? listedAs(device, invitation, basis.reader) : basis
  const wanted = await account.consents.wanted({ invitation })
  if (expected !== undefined) {
    if (!isSame(expected, wanted)) throw otherInvitation(expected)
  } else if ('reader' in basis)
    rememberUnlisted(device, { ...wanted, id: invitation }, basis.reader)
  return wanted
}

/**
 * Approves an invitation with a signature of this device.
 *
 * The consent is stored before it is sent to the account server.
 * @param basis the connection and inviter, if words or a roster prove them; otherwise the caller,
 *   and the consent must match what the account server listed
 * @returns the invitation, with the connection and the inviter that the consent names
 * @throws AppError `backend_error` with `state` `other_invitation` if the account server names
 *   another connection or inviter: before the signature, nothing is signed; after it, the consent
 *   is withdrawn; `invalid_state` with `state` `read_again` as `listedAs` does; and any error from
 *   the account server
 */
export async function giveConsent(
  device: Approving,
  account: Account,
  invitation: string,
  basis: Basis = { reader: null },
): Promise<Invitation> {
  const { state, identity, now, requireSession } = device
  const { connection, inviter, roster_head } = await wantedFor(device, account, invitation, basis)
  const log = await identity.keyLog()
  const { sign } = await identity.keys()
  const at = now()
  const consent = signConsent({
    connection,
    inviter,
    account: identity.account,
    device: identity.device,
    keyLog: log,
    rosterHead: decodeBase64url(roster_head),
    at: Math.floor(at / 1000),
    kid: identity.kid,
    seed: sign.secret,
  })
  requireSession()
  state.consents.put({ hash: nameOf(consent), connection, invitation, at })
  const given = await account.consents.give({ body: { invitation, consent } })
  const { connection_id, from } = given
  if (connection_id === connection && from.user_id === inviter) return given
  requireSession()
  state.consents.withdraw(invitation)
  throw new AppError(
    'backend_error',
    `The account server answered the approval with another connection or inviter (${connection}, ${inviter}) than this device approved. This device has withdrawn the approval. The server may be dishonest.`,
    { details: { state: 'other_invitation' } },
  )
}

/**
 * Marks the consents to invitations that another device of the account declined.
 *
 * The list comes from the account server. Must be called before rosters are fetched, because
 * fetching deletes a consent that was used.
 * @throws AppError for any error from the account server
 */
export async function noteDeclined(
  { consents }: Pick<State, 'consents'>,
  account: Account,
): Promise<void> {
  const { received } = await account.invitations.list({ state: 'declined' })
  for (const { id } of received) consents.decline(id)
}

/** Returns the consent that added this account; null if this device does not have it. */
function consentIn(state: State, roster: Roster, own: string): ConsentRow | null {
  const isMember = roster.members.some(({ account }) => account === own)
  const consent = isMember ? lastConsentOf(roster, own) : null
  return consent === null ? null : state.consents.get(nameOf(consent))
}

const holds = ({ at, withdrawn }: ConsentRow, now: number): boolean =>
  !withdrawn && Math.abs(now - at) <= LONGEST_MS

/**
 * Deletes a valid consent when a roster shows that the consent added the account.
 *
 * A consent that another device declined is kept until the user was asked.
 */
export function settleConsent(
  {
    state,
    identity,
    now,
  }: Pick<DeviceContext, 'state' | 'now'> & { identity: { account: string } },
  roster: Roster,
): void {
  const row = consentIn(state, roster, identity.account)
  if (row !== null && !row.declined && holds(row, now())) state.consents.delete(row.hash)
}

/**
 * Leaves a connection if the consent that added this account is invalid.
 * @returns `left`; `declined`, only once, if the consent is valid but the account server reports
 *   that another device declined it; null if there is nothing to report
 * @throws AppError as `leaveOrEnd` does
 */
export async function leaveUnlessAgreed(
  device: Signing,
  account: Account,
  connection: string,
): Promise<'left' | 'declined' | null> {
  const known = rememberedRoster(device.state, connection)
  const row = known === null ? null : consentIn(device.state, known.roster, device.identity.account)
  if (row === null) return null
  const isGood = holds(row, device.now())
  if (isGood && !row.declined) return null
  if (!isGood) await leaveOrEnd(device, account, connection)
  device.state.consents.delete(row.hash)
  return isGood ? 'declined' : 'left'
}

/**
 * Returns the revoked device that consented to a connection that this account must leave.
 *
 * If there is no such connection any more, clears its mark and returns null.
 */
export function consenterOf({ state, identity }: Signing, connection: string): string | null {
  const known = rememberedRoster(state, connection)
  const log = rememberedLog(state, identity.account)
  const device = known === null || log === null ? null : revokedConsenter(known.roster, log)
  if (device === null) dropUnagreed(state, connection)
  return device
}

/**
 * Leaves a connection to which a now revoked device consented.
 * @throws AppError as `leaveOrEnd` does; the connection then stays marked
 */
export async function leaveUnagreed(
  device: Signing,
  account: Account,
  connection: string,
): Promise<void> {
  await leaveOrEnd(device, account, connection)
  dropUnagreed(device.state, connection)
}

/**
 * Approves an invitation with a signed consent.
 *
 * Stores the inviter's name at the time of the approval as the accepted name.
 * @param basis the connection and inviter, if words prove them; otherwise the caller, and the
 *   listed connection and inviter are used
 * @throws AppError as `giveConsent` does
 */
export async function approveInvitation(
  device: DeviceContext,
  account: Account,
  id: string,
  basis?: Basis,
): Promise<Invitation> {
  const approved = await giveConsent(device, account, id, basis)
  const { user_id, display_name } = approved.from
  device.requireSession()
  recallConnection(device.state, approved.connection_id)
  if (user_id !== null && display_name !== null) device.state.names.pin(user_id, display_name)
  device.syncSoon()
  return approved
}
