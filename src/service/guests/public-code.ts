/**
 * Public codes (protocol, section 6). The account server finds accounts by words for strangers, so
 * it must have the secret of each public code. The server could therefore impersonate the owner of
 * a code, but only where that code is used.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { StampAssurance } from '../../api/rest/verify.ts'
import { codeOf } from '../../crypto/code.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { stampFragment } from '../../crypto/stamp.ts'
import { holdApproved, requireApproved } from '../accounts/device-rows.ts'
import { activeCodes, keepCode } from '../accounts/public-code-rows.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTry } from '../db/attempts.ts'
import { verified } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { transactionWithMarks } from '../db/sync-marks.ts'
import { newPublicWords } from './public-words.ts'
import type { WordBuilder, WordSizes } from './word-builder.ts'

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
    .select(['id', 'display_name', 'handle', 'headline', 'kind'])
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

export const lookups = (
  ground: ServiceContext,
  of: { readonly builder: WordBuilder; readonly sizes?: WordSizes },
): Service['lookups'] => {
  const { db, publicUrl } = ground
  const words = newPublicWords({ ...ground, ...of })

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
