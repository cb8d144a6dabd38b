/**
 * The public code (protocol, section 6). The account server stores the secret of the code, since it
 * resolves words to accounts for strangers. The server could therefore impersonate the owner of the
 * code, but only with this code.
 *
 * The words of every active code, for the current minute and the adjacent ones, are in memory. They
 * are computed on demand, in slices, and follow the table: each call first reads the rows that
 * changed. A match in memory is a candidate, which the row then confirms.
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
import { judged } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

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

interface Found {
  readonly account: string
  readonly window: number
}

interface PublicWords {
  /**
   * Returns the accounts with an active public code that shows these words now.
   * @param indices the words by their indices
   */
  find(indices: readonly number[]): Promise<Found[]>
}

/** Returns the words of the active public codes of a database. */
function newPublicWords({ db, now }: Pick<ServiceContext, 'db' | 'now'>): PublicWords {
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

const LOOK_UPS: Brake = {
  what: 'look-up',
  most: 20,
  periodMs: 60_000,
  told: 'Too many words were looked up. The limit is 20 a minute.',
}

export const publicCode = ({ db }: ServiceContext): Service['publicCode'] => ({
  create: async ({ body: { k } }, session) => {
    judged('k', () => decodeBase64url(k))
    await db.transaction().execute(async (trx) => {
      await holdApproved(trx, session)
      await keepCode(trx, { account_id: session.account, k })
    })
  },

  /**
   * Returns null unless the code is active: a device makes a new secret to switch the code on.
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

/** Returns a time in Unix seconds from a signed structure that was checked when it was stored. */
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
      // The caller's own words are an echo and prove nothing about another account.
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
