/**
 * The public code (protocol, section 6). The account server stores the secret of the code, since
 * it resolves words to accounts for strangers. The server could therefore impersonate the owner
 * of the code, but only with this code.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { StampAssurance } from '../../api/rest/verify.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { codeOf } from '../../crypto/code.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { stampFragment } from '../../crypto/stamp.ts'
import { requireApproved, holdApproved } from '../accounts/device-rows.ts'
import { judged } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { activeCodes, keepCode } from '../accounts/public-code-rows.ts'
import { newPublicWords } from './public-words.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTry } from '../db/attempts.ts'

const LOOK_UPS: Brake = {
  what: 'look-up',
  most: 20,
  periodMs: 60_000,
  told: 'Too many words were looked up: 20 a minute is the most.',
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
