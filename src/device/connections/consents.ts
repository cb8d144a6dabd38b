/**
 * Consents (protocol, section 6): the person approves an invitation, and this device signs that the
 * account may be taken in by the inviter. The device remembers what it signed: where the account is
 * taken in by a consent that was withdrawn, or that is older than 30 days, the device leaves. On the
 * account server's word alone it signs no `leave`: the person is asked.
 */
import type { Account } from '../../api/port.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { signConsent } from '../../crypto/logs/consent.ts'
import { hashOf } from '../../crypto/jose/jws.ts'
import { type Roster, lastConsentOf } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { ConsentRow } from '../../state/consents.ts'
import type { State } from '../../state/state.ts'
import type { DeviceContext } from '../context.ts'
import {
  type Basis,
  isSame,
  listedAs,
  otherInvitation,
  rememberUnlisted,
} from './listed-invitations.ts'
import { revokedConsenter } from '../logs/late-consents.ts'
import { leaveOrEnd } from './members.ts'
import { rememberedRoster } from '../logs/roster-cache.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'
import type { Signing } from './roster-entries.ts'
import { dropUnagreed } from '../logs/refused-connections.ts'

const LONGEST_MS = 30 * 24 * 3_600_000

const nameOf = (consent: string) => encodeBase64url(hashOf(consent))

type Approving = Pick<DeviceContext, 'state' | 'identity' | 'now' | 'demandSeat'>

/**
 * What a consent to an invitation has to name, as the account server answers. Where this device knew
 * nothing of the invitation, the answer is remembered, so that it holds for a repetition.
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
 * Approves an invitation with the key of this device. The consent is remembered before the account
 * server gets it.
 * @param basis what it must be for, where words or a roster prove that; else its caller: it must be
 *   for what the account server listed
 * @returns the invitation, with the connection and the inviter that the consent names
 * @throws AppError `backend_error` with `state` `other_invitation` where the account server names
 *   others before, and then nothing is signed, or after, and then the consent is withdrawn;
 *   `invalid_state` with `state` `read_again` as `listedAs` does; what the account throws
 */
export async function giveConsent(
  device: Approving,
  account: Account,
  invitation: string,
  basis: Basis = { reader: null },
): Promise<Invitation> {
  const { state, identity, now, demandSeat } = device
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
  demandSeat()
  state.consents.put({ hash: nameOf(consent), connection, invitation, at })
  const given = await account.consents.give({ body: { invitation, consent } })
  const { connection_id, from } = given
  if (connection_id === connection && from.user_id === inviter) return given
  demandSeat()
  state.consents.withdraw(invitation)
  throw new AppError(
    'backend_error',
    `The account server answered the approval with another connection or inviter than it is for (${connection}, ${inviter}): this device has withdrawn it. The server may be dishonest.`,
    { details: { state: 'other_invitation' } },
  )
}

/**
 * Notes what this device consented to and another device of the account declined, by the
 * account server's list. Called before rosters are fetched, since a consent that holds is then used up.
 * @throws AppError what the account throws
 */
export async function noteDeclined(
  { consents }: Pick<State, 'consents'>,
  account: Account,
): Promise<void> {
  const { received } = await account.invitations.list({ state: 'declined' })
  for (const { id } of received) consents.decline(id)
}

/** The consent by which this account is in a connection, where this device signed it and left it open. */
function consentIn(state: State, roster: Roster, own: string): ConsentRow | null {
  const isMember = roster.members.some(({ account }) => account === own)
  const consent = isMember ? lastConsentOf(roster, own) : null
  return consent === null ? null : state.consents.get(nameOf(consent))
}

const holds = ({ at, withdrawn }: ConsentRow, now: number): boolean =>
  !withdrawn && Math.abs(now - at) <= LONGEST_MS

/**
 * A consent that holds is used up when a roster first shows the account taken in by it, unless the
 * person is still to be asked.
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
 * Leaves a connection into which the account was taken by a consent that does not hold.
 * @returns `left`; `declined` once where the consent holds but for what the account server says of
 *   another device; null where nothing is to be said
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
 * The revoked device by whose consent the account is in a connection that it is to leave; null where
 * there is nothing to leave any more, which is then noted.
 */
export function consenterOf({ state, identity }: Signing, connection: string): string | null {
  const known = rememberedRoster(state, connection)
  const log = rememberedLog(state, identity.account)
  const device = known === null || log === null ? null : revokedConsenter(known.roster, log)
  if (device === null) dropUnagreed(state, connection)
  return device
}

/**
 * Leaves a connection into which the account was taken by a consent of a revoked device.
 * @throws AppError as `leaveOrEnd` does; it stays noted then
 */
export async function leaveUnagreed(
  device: Signing,
  account: Account,
  connection: string,
): Promise<void> {
  await leaveOrEnd(device, account, connection)
  dropUnagreed(device.state, connection)
}
