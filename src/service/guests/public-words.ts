/**
 * Finds the account with a public code that shows three given words (protocol, section 6). The
 * words of every active code, for the current minute and the adjacent ones, are in memory. They
 * are computed on demand, in slices, and follow the table: each call first reads the rows that
 * changed. A match in memory is a candidate, which the row then confirms.
 */
import { setImmediate } from 'node:timers/promises'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { LABEL, ZERO_HEAD, acceptedAt, codeKey, codeOf, codeReader } from '../../crypto/code.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { activeCodes, codes } from '../accounts/public-code-rows.ts'

/** Computes this many keys or words before yielding to the event loop: a few milliseconds. */
const SLICE = 200
/** The number of rows that one query reads. */
const BATCH = 1000

/** Returns the words of an account in a window, as one number. */
type Says = (window: number) => number

/**
 * Returns the function that computes the words of an account.
 * @param k the secret of the code in base64url, as in the table
 */
function saysOf(account: string, k: string): Says {
  const subject = parseId(ID_PREFIX.account, account)
  const key = decodeBase64url(k)
  const read = codeReader(codeKey({ label: LABEL.public, key, subject, epoch: 1, head: ZERO_HEAD }))
  return (window) => codeOf(read(window, subject))
}

export interface Found {
  readonly account: string
  readonly window: number
}

export interface PublicWords {
  /**
   * Returns the accounts with an active public code that shows these words now.
   * @param indices the words by their indices
   */
  find(indices: readonly number[]): Promise<Found[]>
}

/** Returns the words of the active public codes of a database. */
export function newPublicWords({ db, now }: Pick<ServiceContext, 'db' | 'now'>): PublicWords {
  /** The accounts with an active code. */
  const speakers = new Map<string, Says>()
  /**
   * Accounts by window and words. An account that switched its code off stays until the window
   * ends.
   */
  const windows = new Map<number, Map<number, string[]>>()
  let seen = 0
  let worked = 0

  /** Yields to the event loop after each slice. */
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

  /** Reads the rows that changed after the last `turn`. Returns whether there may be more. */
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

  /** Computes the words of the accepted windows and deletes those of the others. */
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

  /**
   * Brings the words up to date as of this call. A refresh that is already running may have read
   * the table before the call, so the call waits for the next one.
   */
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

  /** Returns the candidates with stored codes that still show these words. */
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
