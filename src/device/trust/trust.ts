/**
 * The keys that this device trusts (protocol, section 3).
 *
 * This module updates the key logs of followed accounts, whether or not the account server reports
 * a change, and stores which keys the user reviewed. Keys of a later generation are unverified
 * until the user has compared the safety number. A confirmation on another device of the account
 * does not count here.
 */
import { every } from '../../api/cursor.ts'
import type { Account } from '../../api/port.ts'
import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import type { TrustRow } from '../../state/trust.ts'
import { type Trusting, isHinted, isJudged } from './staleness.ts'

/** How long a check of a key log is valid, in milliseconds, unless the server hints at a change. */
const FRESH_MS = 3600 * 1000

/**
 * Stops following an account. Its key log stays, so that an account server cannot present an older
 * one later.
 */
export function unpin({ state }: Pick<Trusting, 'state'>, id: string): void {
  const isMember = state.connections.withMember(id).length > 0
  state.transaction(() => {
    state.trust.delete(id)
    // Also deletes a pending `confirm` of new keys.
    state.invites.dropAgain(id)
    // The name of a member of a connection stays.
    if (!isMember) state.names.delete(id)
  })
}

/**
 * Requires that there are keys that the user can confirm.
 * @throws AppError conflict if the key log was refused, invalid_state if there are no keys
 */
export function requireConfirmable({ refused, newest }: TrustRow): void {
  if (refused !== null)
    throw new AppError(
      'conflict',
      `The key log of this account that the account server sent is not valid (${refused}). Do not confirm anything. The server may be dishonest.`,
    )
  if (newest === 0)
    throw new AppError(
      'invalid_state',
      'This account has no keys yet, so there is nothing to confirm.',
      { details: { state: 'no_keys' } },
    )
}

/** Dismisses the notice that all devices of an account were replaced with the recovery key. */
export function dismissRecovery({ state }: Pick<Trusting, 'state'>, id: string): void {
  const row = state.trust.get(id)
  if (row !== null) state.trust.put({ ...row, recovered_at: null })
}

/** Returns, by account, the time of the last verification that is not uploaded yet. */
export function verifiedHere({ verifications }: State): ReadonlyMap<string, string> {
  const last = new Map<string, string>()
  // The rows are ordered oldest first.
  for (const { outcome, at, matches } of verifications.unpushed(-1))
    if (outcome === 'verified')
      for (const { member_id, speaker } of matches)
        if (member_id !== undefined && speaker === 'other') last.set(member_id, at)
  return last
}

/**
 * Updates the trust rows of followed accounts. Fetches the key logs that were last checked more
 * than an hour ago, and those with a hint of a change.
 * @returns `unlisted`: the accounts that this device follows, that are in a suspended connection
 *   and that the account server no longer lists as followed; `isSettled`: whether the next sync has
 *   nothing to do while the cards and this device's rows stay the same
 * @throws AppError for any error from the account server
 */
export async function refreshTrust(
  device: Trusting & { readonly log: Log },
  account: Account,
): Promise<{ readonly unlisted: readonly string[]; readonly isSettled: boolean }> {
  const { state, now, requireSession, log } = device
  const cards = await every((query) => account.trustCards.list(query))
  for (const card of cards) {
    const { user_id: id, display_name } = card
    requireSession()
    state.names.pin(id, display_name)
    const known = state.trust.get(id)
    const isFresh = known !== null && isChecked(known, now())
    const isCurrent = isFresh && isJudged(state, known) && !isHinted(card, known, now())
    const row = isCurrent ? known : await rowFor(device, account, card, isFresh)
    if (row.refused !== null) log('warn', 'key log refused', { account: id, reason: row.refused })
  }
  const listed = new Set(cards.map(({ user_id }) => user_id))
  const unlisted = state.trust.accounts().filter((id) => !listed.has(id))
  // A hint of changed keys is followed again after a minute.
  const isHintless = cards.every(({ key_status }) => key_status !== 'changed_unverified')
  return {
    unlisted: unlisted.filter((id) => holdsBack(state, id)),
    isSettled: unlisted.length === 0 && isHintless,
  }
}

/** Checks whether the key log of every followed account was checked in the last hour. */
export const isTrustFresh = ({ state, now }: Pick<Trusting, 'state' | 'now'>): boolean =>
  state.trust.accounts().every((id) => {
    const row = state.trust.get(id)
    return row !== null && isChecked(row, now()) && isJudged(state, row)
  })

const isChecked = ({ checked_at }: TrustRow, at: number) => Math.abs(at - checked_at) < FRESH_MS

/** Checks whether an account is in a suspended connection. */
const holdsBack = ({ connections }: State, account: string): boolean =>
  connections.withMember(account).some((id) => connections.get(id)?.hold === 'rotation_pending')

/**
 * Returns the updated row of a card. The elliptic curve code is loaded only if there is something
 * to verify.
 */
async function rowFor(device: Trusting, account: Account, card: TrustCard, isFresh: boolean) {
  const { examine, freshRow } = await import('./trust-keys.ts')
  return isFresh ? freshRow(device, account, card) : examine(device, account, card.user_id)
}
