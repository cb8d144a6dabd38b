import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import { daySpan, invalid } from '../api/input.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type {
  VerificationEntry,
  LoggedMatch,
  PublicVerification,
  Verification,
} from '../api/rest/verify.ts'
import { firstIdAt, isId, newId } from '../crypto/encoding/id.ts'
import { parseWords, wordsAt } from '../crypto/words.ts'
import { OPEN_MS } from '../device/codes/challenges.ts'
import { type Handlers, keeperOf } from './context.ts'

/**
 * Returns the result for words that match on this device.
 *
 * Only words that verify identify a speaker. The user's own words and replayed words match too, so
 * for them the result must not be a conclusive "not found".
 */
function knownHere(here: Verification): PublicVerification {
  const { verified, conclusive, replayed, echo, matches, checked_at } = here
  const { first_verified_at, old_epoch } = here
  const others = verified ? matches.filter(({ speaker }) => speaker === 'other') : []
  return {
    found: verified,
    conclusive: verified && conclusive,
    ambiguous: others.length > 1,
    replayed,
    echo,
    ...(first_verified_at === undefined ? {} : { first_verified_at }),
    ...(old_epoch === undefined ? {} : { old_epoch }),
    matches: others.map((match) => ({ kind: match.kind, assurance_level: match.kind, match })),
    checked_at,
  }
}

type LookUp = Awaited<ReturnType<Account['lookups']['create']>>

/**
 * Returns the result of the account server's look-up, for words that match nothing on this device.
 * A stamp found by its words is proven by its signature, not by the words.
 */
function knownThere(
  { accounts, stamps, echo }: LookUp,
  { conclusive }: Verification,
  at: number,
): PublicVerification {
  const profiles = new Map(accounts.map(({ profile }) => [profile.id, profile]))
  const count = profiles.size + stamps.length
  return {
    found: count > 0,
    conclusive: conclusive && (count > 0 || !echo),
    ambiguous: count > 1,
    replayed: false,
    echo,
    matches: [
      ...[...profiles.values()].map((profile) => ({
        kind: 'account' as const,
        assurance_level: 'public_code' as const,
        profile,
      })),
      ...stamps.map(({ stamp, assurance }) => ({
        kind: 'stamp' as const,
        assurance_level: assurance ?? ('device' as const),
        stamp,
      })),
    ],
    checked_at: timeAt(at),
  }
}

/** Returns the outcome of a look-up, as it is stored in the verification log. */
function outcomeOf({
  found,
  conclusive,
  ambiguous,
  echo,
  matches,
}: PublicVerification): VerificationEntry['outcome'] {
  if (!found && echo) return 'echo'
  if (!found) return conclusive ? 'not_verified' : 'inconclusive'
  return ambiguous || matches[0]?.kind !== 'account' ? 'inconclusive' : 'verified'
}

/** Converts the matches of the account server's look-up to the form of the verification log. */
function loggedMatches({ accounts, stamps }: LookUp): LoggedMatch[] {
  const byAccount = new Map(accounts.map((one) => [one.profile.id, one]))
  return [
    ...[...byAccount.values()].map(({ profile, window }) => ({
      kind: 'account' as const,
      speaker: 'other' as const,
      user_id: profile.id,
      display_name: profile.display_name,
      window,
    })),
    ...stamps.map(({ stamp }) => ({
      kind: 'stamp' as const,
      speaker: 'other' as const,
      user_id: stamp.issuer,
      verification_url: stamp.verification_url,
    })),
  ]
}

export const verify: Handlers['verify'] = {
  words: async ({ body }, context) => {
    const { home, caller } = context
    const { words, expect, challenge_id: challenge } = body
    if (expect !== undefined && challenge !== undefined)
      throw invalid('body', [
        {
          path: 'expect',
          message: 'Leave out expect, because the challenge already names who has to answer.',
        },
      ])
    const device = challenge === undefined ? context.device : context.local
    if (device !== null)
      return device.verifier.verify(words, caller?.token ?? null, { expect, challenge })
    const { verifyNothing } = await import('../device/codes/verifier.ts')
    return verifyNothing(words, home.now())
  },

  challenge: async ({ body }, { local, caller }) => {
    const { id, connection, word, purpose } = local.challenges.draw(
      body.connection_id ?? null,
      body.purpose,
      caller?.token ?? null,
    )
    return {
      id,
      connection_id: connection,
      word: wordsAt([word]).join(' '),
      purpose: purpose.shown,
      expires_at: timeAt(local.now() + OPEN_MS),
    }
  },

  /** Looks up public words. Words that match on this device are not sent to the account server. */
  public: async ({ body }, context) => {
    const { account, home, caller } = context
    const keeper = keeperOf(context)
    const { verifyNothing } = await import('../device/codes/verifier.ts')
    const here =
      keeper === null
        ? verifyNothing(body.words, home.now())
        : await keeper.verifier.verify(body.words, caller?.token ?? null, { method: 'public' })
    if (here.matches.length > 0) return knownHere(here)
    const { indices } = parseWords([body.words].flat().join(' '), 3)
    const found = await account.lookups.create({ body: { words: indices } })
    const at = home.now()
    const answer = knownThere(found, here, at)
    if (keeper !== null) {
      const by = caller?.token ?? null
      await keeper.state.groupCommit(() => {
        keeper.requireSession()
        if (answer.found || answer.echo) keeper.verifier.wasNoGuess(by)
        keeper.state.verifications.insert({
          id: newId('ver_', at),
          at: timeAt(at),
          method: 'public',
          outcome: outcomeOf(answer),
          matches: loggedMatches(found),
          caller: by,
        })
      })
    }
    return answer
  },
}

export const verificationLog: Handlers['verificationLog'] = {
  /** Merges the account's entries with the entries of this device that are not uploaded yet. */
  list: async (page, { account, device }) => {
    const theirs = await account.verificationLog.list(page)
    if (device === null) return theirs
    const before = readCursor(page.cursor, (id) => isId('ver_', id))
    const { since, until } = daySpan(page)
    const end = firstIdAt('ver_', until)
    const upTo = before !== null && before < end ? before : end
    const ours = device.state.verifications.page(rowsFor(page), upTo, firstIdAt('ver_', since))
    const entries = new Map<string, VerificationEntry>()
    for (const entry of [...theirs.items, ...ours]) entries.set(entry.id, entry)
    const sorted = [...entries.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1))
    const merged = pageOf(sorted, page)
    // The account server may have more entries than it returned, even if all local entries fit on
    // this page.
    return {
      items: merged.items,
      next_cursor: merged.next_cursor ?? theirs.next_cursor,
    }
  },
}
