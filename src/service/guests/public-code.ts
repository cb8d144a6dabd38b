/**
 * Public codes (protocol, section 6). The account server finds accounts by words for strangers, so
 * it must have the secret of each public code. The server could therefore impersonate the owner of
 * a code, but only where that code is used.
 *
 * The words of every active code, for the current minute and the adjacent ones, are cached in
 * memory. They are computed on demand, in slices. Each call first reads the rows that changed since
 * the last call. A match in memory is only a candidate, which is then checked against its row.
 */
import type { Kysely } from 'kysely'
import { setImmediate } from 'node:timers/promises'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { StampAssurance } from '../../api/rest/verify.ts'
import { acceptedAt, codeKey, codeOf, codeReader, LABEL, ZERO_HEAD } from '../../crypto/code.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { stampFragment } from '../../crypto/stamp.ts'
import { holdApproved, requireApproved } from '../accounts/device-rows.ts'
import { activeCodes, codes, keepCode } from '../accounts/public-code-rows.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTry } from '../db/attempts.ts'
import { verified } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { transactionWithMarks } from '../db/sync-marks.ts'

/**
 * How many keys or words are computed before other requests can run; this takes a few milliseconds.
 */
const SLICE = 200
/** How many rows one query reads at most. */
const BATCH = 1000

/** Returns an account's words in a window, as one number. */
type Says = (window: number) => number

/**
 * Returns a function that computes an account's words.
 * @param k the code's secret in base64url, as stored in the table
 */
function saysOf(account: string, k: string): Says {
  const subject = parseId(ID_PREFIX.account, account)
  const key = decodeBase64url(k)
  const read = codeReader(codeKey({ label: LABEL.public, key, subject, epoch: 1, head: ZERO_HEAD }))
  return (window) => codeOf(read(window, subject))
}

interface Found {
  readonly account: string
  readonly window: number
}

interface PublicWords {
  /**
   * Returns the accounts with an active public code that has these words now.
   * @param indices the words, as indices in the word list
   */
  find(indices: readonly number[]): Promise<Found[]>
}

/** Creates the cache of words of a database's active public codes. */
function newPublicWords({ db, now }: Pick<ServiceContext, 'db' | 'now'>): PublicWords {
  /** The accounts with an active code, each with the function that computes its words. */
  const speakers = new Map<string, Says>()
  /**
   * Account ids by window and words. An account that has switched its code off stays until the
   * window is deleted.
   */
  const windows = new Map<number, Map<number, string[]>>()
  let seen = 0
  let worked = 0

  /** Yields to the event loop after each slice. */
  async function yieldAfterSlice(): Promise<void> {
    if (++worked % SLICE === 0) await setImmediate()
  }

  function enter(account: string, says: Says, window: number): void {
    const byWords = windows.get(window)
    if (byWords === undefined) return
    const words = says(window)
    const others = byWords.get(words) ?? []
    if (!others.includes(account)) byWords.set(words, [...others, account])
  }

  /**
   * Reads rows that changed after the last turn read. Returns whether there may be more such rows.
   */
  async function follow(): Promise<boolean> {
    const changed = await codes(db).where('turn', '>', seen).orderBy('turn').limit(BATCH).execute()
    for (const { account_id: account, k, public_code, turn } of changed) {
      speakers.delete(account)
      if (k !== null && public_code === 1) {
        const says = saysOf(account, k)
        speakers.set(account, says)
        for (const window of windows.keys()) enter(account, says, window)
        await yieldAfterSlice()
      }
      seen = turn
    }
    return changed.length === BATCH
  }

  /** Computes the words of the accepted windows, and deletes the words of other windows. */
  async function turnTo(accepted: readonly number[]): Promise<void> {
    for (const window of windows.keys()) if (!accepted.includes(window)) windows.delete(window)
    for (const window of accepted) {
      if (windows.has(window)) continue
      windows.set(window, new Map())
      for (const [account, says] of speakers) {
        enter(account, says, window)
        await yieldAfterSlice()
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
   * Brings the words up to date with the table at the time of this call. If a refresh is running,
   * it may have read the table before this call, so the call waits for the following refresh.
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

  /** Returns the candidates that still have these words according to their rows. */
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
      const found = [...windows].flatMap(([window, byWords]) =>
        (byWords.get(words) ?? []).map((account) => ({ account, window })),
      )
      return confirmed(found, words)
    },
  }
}

const LOOK_UPS: Brake = {
  what: 'look-up',
  most: 20,
  periodMs: 60_000,
  message: 'Too many words were looked up. The limit is 20 a minute.',
}

export const publicCode = ({ db }: ServiceContext): Service['publicCode'] => ({
  create: async ({ body: { k } }, session) => {
    verified('k', () => decodeBase64url(k))
    await transactionWithMarks(db, async (trx) => {
      await holdApproved(trx, session)
      await keepCode(trx, { account_id: session.account, k })
    })
  },

  /**
   * Returns the code's secret; null unless the code is active. To switch a code on, a device
   * creates a new secret.
   */
  read: async (_, session) => {
    await requireApproved(db, session)
    const row = await activeCodes(db)
      .where('public_codes.account_id', '=', session.account)
      .executeTakeFirst()
    return { k: row?.k ?? null }
  },
})

/** Returns the public profiles of accounts, by account id. */
async function profilesOf(db: Kysely<Schema>, accounts: readonly string[]) {
  if (accounts.length === 0) return new Map()
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'display_name', 'handle', 'kind'])
    .where('id', 'in', accounts)
    .execute()
  return new Map(rows.map((row) => [row.id, { ...row }]))
}

/**
 * Returns a time from a signed structure in the API's format. The structure was verified before it
 * was stored.
 */
const timeIn = (jws: string, typ: 'stamp+jws' | 'receipt+jws', member: string) =>
  timeAt(Number(parseJws(jws, typ).payload.get(member)) * 1000)

export const lookups = (ground: ServiceContext): Service['lookups'] => {
  const { db, publicUrl } = ground
  const words = newPublicWords(ground)

  async function stampsOf(indices: readonly number[]) {
    const rows = await db
      .selectFrom('stamps')
      .select(['id', 'account_id', 'stamp', 'receipt'])
      .where('words', '=', codeOf(indices))
      .execute()
    return rows.map(({ id, account_id, stamp, receipt }) => ({
      id,
      stamp: {
        issuer: account_id,
        signed_at: timeIn(stamp, 'stamp+jws', 'iat'),
        received_at: timeIn(receipt, 'receipt+jws', 'received_at'),
        verification_url: `${publicUrl()}/s/${id}#${stampFragment(stamp)}`,
      },
      assurance: parseJws(receipt, 'receipt+jws').payload.get('assurance') as StampAssurance,
    }))
  }

  return {
    create: async ({ body }, { account }) => {
      await countTry(ground, account, LOOK_UPS)
      const all = await words.find(body.words)
      // If the words are the caller's own, they are an echo and prove nothing about another
      // account.
      const found = all.filter((one) => one.account !== account)
      const profiles = await profilesOf(
        db,
        found.map((one) => one.account),
      )
      return {
        accounts: found.flatMap((one) => {
          const profile = profiles.get(one.account)
          return profile === undefined ? [] : [{ profile, window: one.window }]
        }),
        echo: found.length < all.length,
        stamps: await stampsOf(body.words),
      }
    },
  }
}
