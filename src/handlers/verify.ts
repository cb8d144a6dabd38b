import { pageOf, readCursor } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { LogEntry, PublicVerification, Verification } from '../api/rest/verify.ts'
import { isId, newId } from '../crypto/id.ts'
import { type Handlers, keeperOf } from './context.ts'

/** What words are that this device knows. Only what verified is evidence: one's own words, and those used before, are of nobody. */
function knownHere({
  verified,
  conclusive,
  matches,
  checked_at,
}: Verification): PublicVerification {
  const others = verified ? matches.filter(({ speaker }) => speaker === 'other') : []
  return {
    found: others.length > 0,
    conclusive,
    ambiguous: others.length > 1,
    matches: others.map((match) => ({ kind: match.kind, assurance_level: match.kind, match })),
    checked_at,
  }
}

/** What the account server says of words that match nothing here. A stamp is what its signature says, and its words only lead there. */
function knownThere(
  { accounts, stamps }: Awaited<ReturnType<Account['lookups']['create']>>,
  { conclusive }: Verification,
  at: number,
): PublicVerification {
  const profiles = new Map(accounts.map(({ profile }) => [profile.id, profile]))
  const count = profiles.size + stamps.length
  return {
    found: count > 0,
    conclusive,
    ambiguous: count > 1,
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

/** Of a look-up as the verification log tells it: somebody, nobody, or nothing that one could rely on. */
function outcomeOf({
  found,
  conclusive,
  ambiguous,
  matches,
}: PublicVerification): LogEntry['outcome'] {
  if (!found) return conclusive ? 'not_verified' : 'inconclusive'
  return ambiguous || matches[0]?.kind !== 'account' ? 'inconclusive' : 'verified'
}

export const verify: Handlers['verify'] = {
  words: async ({ body }, { device, home, caller }) => {
    if (device !== null) return device.verifier.verify(body.words, caller?.token ?? null)
    const { verifyNothing } = await import('../device/verifier.ts')
    return verifyNothing(body.words, home.now())
  },

  /** What this device knows is not sent anywhere. */
  public: async ({ body }, context) => {
    const { account, home, caller } = context
    const keeper = keeperOf(context)
    const { verifyNothing } = await import('../device/verifier.ts')
    const here =
      keeper === null
        ? verifyNothing(body.words, home.now())
        : await keeper.verifier.verify(body.words, caller?.token ?? null, 'public')
    if (here.matches.length > 0) return knownHere(here)
    const { parseWords } = await import('../crypto/words.ts')
    const { indices } = parseWords([body.words].flat().join(' '), 3)
    const found = await account.lookups.create({ body: { words: indices } })
    const at = home.now()
    const answer = knownThere(found, here, at)
    if (keeper !== null) {
      keeper.demandSeat()
      keeper.state.verifications.insert({
        id: newId('ver_', at),
        at: timeAt(at),
        method: 'public',
        outcome: outcomeOf(answer),
        matches: [],
        caller: caller?.token ?? null,
      })
    }
    return answer
  },
}

export const verificationLog: Handlers['verificationLog'] = {
  /** The account's entries, and those of this device that it has not been told yet. */
  list: async (page, { account, device }) => {
    const theirs = await account.verificationLog.list(page)
    if (device === null) return theirs
    const before = readCursor(page.cursor, (id) => isId('ver_', id))
    const ours = device.state.verifications.page(page.limit + 1, before)
    const entries = new Map<string, LogEntry>()
    for (const entry of [...theirs.items, ...ours]) entries.set(entry.id, entry)
    const sorted = [...entries.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1))
    const merged = pageOf(sorted, page)
    // The account may have more than it sent while everything here fits on this page.
    return {
      items: merged.items,
      next_cursor: merged.next_cursor ?? theirs.next_cursor,
    }
  },
}
