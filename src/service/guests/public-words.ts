/**
 * Whose public code three words are (protocol, section 6): the words of every active code, of this minute and the ones beside it, in
 * memory. They are worked out when somebody asks, in slices, and follow the table: what changed since is asked for each time. What is
 * found is a candidate; the row decides.
 */
import { setImmediate } from 'node:timers/promises'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { LABEL, ZERO_HEAD, acceptedAt, codeKey, codeOf, codeReader } from '../../crypto/code.ts'
import { PREFIX, parseId } from '../../crypto/encoding/id.ts'
import type { Ground } from '../context.ts'
import { activeCodes, codes } from '../accounts/public-code-rows.ts'

/** So many keys or words are worked out before others get a turn: a few milliseconds. */
const SLICE = 200
/** So many rows are asked for at once. */
const BATCH = 1000

/** What an owner says in a window, as a number. */
type Says = (window: number) => number

/** The same, by the secret as the table has it. */
function saysOf(account: string, k: string): Says {
  const subject = parseId(PREFIX.account, account)
  const key = decodeBase64url(k)
  const read = codeReader(codeKey({ label: LABEL.public, key, subject, epoch: 1, head: ZERO_HEAD }))
  return (window) => codeOf(read(window, subject))
}

export interface Found {
  readonly account: string
  readonly window: number
}

export interface PublicWords {
  /** The accounts whose active public code has these words, by their indices, now. */
  find(indices: readonly number[]): Promise<Found[]>
}

/** The words of the active public codes of a database. */
export function newPublicWords({ db, now }: Pick<Ground, 'db' | 'now'>): PublicWords {
  /** Who has an active code. */
  const speakers = new Map<string, Says>()
  /** By window and words, who said them once; who switched it off since stays in a window until that is over. */
  const windows = new Map<number, Map<number, string[]>>()
  let seen = 0
  let worked = 0

  /** Let others have a turn after each slice. */
  async function breathe(): Promise<void> {
    if (++worked % SLICE === 0) await setImmediate()
  }

  function enter(account: string, says: Says, window: number): void {
    const said = windows.get(window)
    if (said === undefined) return
    const words = says(window)
    const others = said.get(words) ?? []
    if (!others.includes(account)) said.set(words, [...others, account])
  }

  /** Learn what changed since the turn that was seen last; answers whether there may be more. */
  async function follow(): Promise<boolean> {
    const changed = await codes(db).where('turn', '>', seen).orderBy('turn').limit(BATCH).execute()
    for (const { account_id: account, k, public_code, turn } of changed) {
      speakers.delete(account)
      if (k !== null && public_code === 1) {
        const says = saysOf(account, k)
        speakers.set(account, says)
        for (const window of windows.keys()) enter(account, says, window)
        await breathe()
      }
      seen = turn
    }
    return changed.length === BATCH
  }

  /** Have the words of the minutes that count now, and of no others. */
  async function turnTo(accepted: readonly number[]): Promise<void> {
    for (const window of windows.keys()) if (!accepted.includes(window)) windows.delete(window)
    for (const window of accepted) {
      if (windows.has(window)) continue
      windows.set(window, new Map())
      for (const [account, says] of speakers) {
        enter(account, says, window)
        await breathe()
      }
    }
  }

  async function refresh(): Promise<void> {
    while (await follow());
    await turnTo(acceptedAt(now()))
  }

  let running: Promise<void> | null = null
  let next: Promise<void> | null = null

  /** Up to date as of this call: a run that has begun may have asked the table before. */
  function refreshed(): Promise<void> {
    if (running === null)
      return (running = refresh().finally(() => {
        running = null
      }))
    const joined = () => {
      next = null
      return refreshed()
    }
    return (next ??= running.then(joined, joined))
  }

  /** Whether an account has these words in a window, as its row says now. */
  async function confirmed(found: Found[], words: number): Promise<Found[]> {
    if (found.length === 0) return []
    const rows = await activeCodes(db)
      .where(
        'public_codes.account_id',
        'in',
        found.map(({ account }) => account),
      )
      .execute()
    const secrets = new Map(rows.map(({ account_id, k }) => [account_id, k]))
    return found.filter(({ account, window }) => {
      const k = secrets.get(account)
      return k !== undefined && saysOf(account, k)(window) === words
    })
  }

  return {
    async find(indices) {
      await refreshed()
      const words = codeOf(indices)
      const found = [...windows].flatMap(([window, said]) =>
        (said.get(words) ?? []).map((account) => ({ account, window })),
      )
      return confirmed(found, words)
    },
  }
}
