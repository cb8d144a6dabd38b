/**
 * Whose keys this device trusts (protocol, section 3). It fetches and judges the key logs of those whom the person follows, whatever
 * the account server says of them, and remembers what the person has looked at: keys of a later generation are unverified until the
 * safety number was compared. What another device of the account confirmed, this one has not seen.
 */
import { every } from '../../api/cursor.ts'
import type { Account } from '../../api/port.ts'
import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import type { TrustRow } from '../../state/trust.ts'
import { type Trusting, isHinted, isJudged } from './staleness.ts'

/** How long a key log that was looked at counts as it was, unless the account server hints at another. */
const FRESH_MS = 3600 * 1000

/** Follow somebody no more. The key log stays: an account server must not get to show an older one later. */
export function unpin({ state }: Pick<Trusting, 'state'>, id: string): void {
  const isMember = state.connections.withMember(id).length > 0
  state.transaction(() => {
    state.trust.delete(id)
    // The confirmation is taken back as well.
    state.invites.dropAgain(id)
    // Whoever is in a connection is still known by it.
    if (!isMember) state.names.delete(id)
  })
}

/**
 * Checks that there are keys that can be confirmed.
 * @throws AppError conflict where the key log was refused, invalid_state where there are no keys
 */
export function requireConfirmable({ refused, newest }: TrustRow): void {
  if (refused !== null)
    throw new AppError(
      'conflict',
      `The key log of this account, as the account server shows it, does not hold (${refused}): confirm nothing. The server may be dishonest.`,
    )
  if (newest === 0)
    throw new AppError(
      'invalid_state',
      'This account has no keys yet, so there is nothing to confirm.',
      { details: { state: 'no_keys' } },
    )
}

/** The person has seen that all devices were replaced with the recovery key. */
export function dismissRecovery({ state }: Pick<Trusting, 'state'>, id: string): void {
  const row = state.trust.get(id)
  if (row !== null) state.trust.put({ ...row, recovered_at: null })
}

/** When people were verified here, as far as the account server has not been told yet, by account. */
export function verifiedHere({ verifications }: State): ReadonlyMap<string, string> {
  const last = new Map<string, string>()
  // Oldest first.
  for (const { outcome, at, matches } of verifications.unpushed(-1))
    if (outcome === 'verified')
      for (const { member_id, speaker } of matches)
        if (member_id !== undefined && speaker === 'other') last.set(member_id, at)
  return last
}

/**
 * Bring up to date what is known of the keys of everybody who is followed: of those not looked at for an hour, and of those of whom
 * the account server hints at other keys.
 * @returns who is followed here and is in a connection that is held back, although the account server lists them no more
 * @throws AppError what the account throws
 */
export async function refreshTrust(
  device: Trusting & { readonly log: Log },
  account: Account,
): Promise<string[]> {
  const { state, now, demandSeat, log } = device
  const cards = await every((query) => account.trustCards.list(query))
  for (const card of cards) {
    const { user_id: id, display_name } = card
    demandSeat()
    state.names.pin(id, display_name)
    const known = state.trust.get(id)
    const isFresh = known !== null && Math.abs(now() - known.checked_at) < FRESH_MS
    const isCurrent = isFresh && isJudged(state, known) && !isHinted(card, known, now())
    const row = isCurrent ? known : await judged(device, account, card, isFresh)
    if (row.refused !== null) log('warn', 'key log refused', { account: id, reason: row.refused })
  }
  const listed = new Set(cards.map(({ user_id }) => user_id))
  return state.trust.accounts().filter((id) => !listed.has(id) && holdsBack(state, id))
}

/** Whether somebody is in a connection that is held back. */
const holdsBack = ({ connections }: State, account: string): boolean =>
  connections.withMember(account).some((id) => connections.get(id)?.hold === 'rotation_pending')

/** The curves are loaded when there is something to check. */
async function judged(device: Trusting, account: Account, card: TrustCard, isFresh: boolean) {
  const { examine, look } = await import('./trust-keys.ts')
  return isFresh ? look(device, account, card) : examine(device, account, card.user_id)
}
