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
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
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
 * Updates the trust rows of followed accounts. If one was last checked more than an hour ago,
 * compares the newest entries that are stored here with those of the account server. Fetches the
 * key logs that differ, and those with a hint of a change.
 * @param hasNews whether the trust cards may have changed
 * @returns null if nothing is left to read; `unlisted`: the accounts that this device follows, that
 *   are in a suspended connection and that the account server no longer lists as followed;
 *   `isSettled`: whether the next sync has nothing to do while the cards and this device's rows
 *   stay the same
 * @throws AppError for any error from the account server
 */
export async function refreshTrust(
  device: Trusting & { readonly log: Log },
  account: Account,
  hasNews: boolean,
): Promise<{ readonly unlisted: readonly string[]; readonly isSettled: boolean } | null> {
  const { state, now, requireSession, log } = device
  if (!isTrustFresh(device)) await noteCurrent(device, account)
  if (!hasNews && isTrustFresh(device)) return null
  const cards = await every((query) => account.trustCards.list(query))
  for (const card of cards) {
    const { user_id: id, display_name } = card
    requireSession()
    state.names.pin(id, display_name)
    const known = state.trust.get(id)
    const isFresh = isCheckedNow(known, now())
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
const isTrustFresh = ({ state, now }: Pick<Trusting, 'state' | 'now'>): boolean =>
  state.trust.accounts().every((id) => {
    const row = state.trust.get(id)
    return isCheckedNow(row, now()) && isJudged(state, row)
  })

/** Checks whether a key log was checked in the last hour. `at` is in Unix milliseconds. */
const isCheckedNow = (row: TrustRow | null, at: number): row is TrustRow =>
  row !== null && Math.abs(at - row.checked_at) < FRESH_MS

type Listed = Awaited<ReturnType<Account['followedKeyLogs']['list']>>['items'][number]

/** Checks whether the newest entry and the signed profile of an account are those stored here. */
function isStored({ logs, profiles }: State, { account, seq, head, profile }: Listed): boolean {
  const newest = logs.head('keylog', account)
  const isSame = (hash: string, jws: string | undefined) =>
    jws !== undefined && encodeBase64url(entryHash(jws)) === hash
  return (
    newest?.seq === seq &&
    isSame(head, newest.entry) &&
    (profile === null || isSame(profile, profiles.get(account)?.jws))
  )
}

/**
 * Records a check of each followed account whose newest entry and signed profile, as the account
 * server lists them, are those stored here. Such a log need not be fetched. A server that lists
 * old entries could as well return old logs.
 * @throws AppError for any error from the account server
 */
async function noteCurrent(
  { state, now, requireSession }: Trusting,
  account: Account,
): Promise<void> {
  const checked_at = now()
  const listed = await every((query) => account.followedKeyLogs.list(query))
  requireSession()
  state.transaction(() => {
    for (const one of listed) {
      const row = state.trust.get(one.account)
      // A refused log is examined again, because the list contains only one entry of it.
      if (row?.refused === null && isStored(state, one)) state.trust.put({ ...row, checked_at })
    }
  })
}

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
