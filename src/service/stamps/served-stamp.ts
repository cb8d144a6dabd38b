/** A stored stamp with everything that is needed to verify it. */
import type { Service } from '../../api/port.ts'
import type { ServedStampFile } from '../../api/stamp-file.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { profilesOf, readKeyLog } from '../accounts/key-log-rows.ts'
import type { ServiceContext } from '../context.ts'
import { notFound } from '../db/faults.ts'

/** Returns the row of a stamp; undefined if there is no stamp with this id. */
export const storedStamp = async ({ db }: Pick<ServiceContext, 'db'>, id: string) =>
  isId('stm_', id)
    ? await db
        .selectFrom('stamps')
        .select(['account_id', 'stamp', 'receipt'])
        .where('id', '=', id)
        .executeTakeFirst()
    : undefined

/**
 * Returns a stamp, its receipt, the key log and the signed profile of its account.
 * @throws AppError not_found
 */
export async function servedStamp(ground: ServiceContext, id: string): Promise<ServedStampFile> {
  const { db, receiptKey } = ground
  const row = await storedStamp(ground, id)
  if (row === undefined) throw notFound('stamp')
  const { entries } = await readKeyLog(db, row.account_id)
  const profile = (await profilesOf(db, [row.account_id])).get(row.account_id)
  return {
    stamp: row.stamp,
    key_log: entries,
    receipt: row.receipt,
    ...(profile === undefined ? {} : { profile }),
    receipt_key: (await receiptKey()).jwk,
  }
}

export const servedStamps = (ground: ServiceContext): Service['servedStamps'] => ({
  read: ({ id }) => servedStamp(ground, id),
})
