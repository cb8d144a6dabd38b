/**
 * Stamps. The server stores a stamp that a device signed, and signs a receipt for it. The receipt
 * contains the time of receipt, the state of the device's key and the signer's assurance. A stamp's
 * words are unique on a server. If they are taken, the device must sign again with a new id, which
 * gives other words.
 */
import type { Kysely } from 'kysely'
import type { Service, CallerSession } from '../../api/port.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'
import {
  type ReceiptPayload,
  signReceipt,
  stampIndices,
  verifyingStamp,
} from '../../crypto/stamp.ts'
import { AppError } from '../../errors.ts'
import { inSlices } from '../../slices.ts'
import { activeOrganisation, organisationOfMachine } from '../accounts/active-organisation.ts'
import { primaryAddress } from '../accounts/account-record.ts'
import { verifiedLater } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { readKeyLog } from '../accounts/key-log-rows.ts'
import type { Schema } from '../db/schema.ts'

export const stamps = (ground: ServiceContext): Service['stamps'] => ({
  create: async ({ body: { stamp } }, session) => {
    const { db, events, now, receiptKey } = ground
    const { account } = session
    const { entries } = await readKeyLog(db, account)
    const { jti, keyStatus } = await verifiedLater('stamp', () => verified(stamp, account, entries))
    // What the server itself has determined. It takes precedence over what the stamp claims.
    const seen = {
      received_at: Math.floor(now() / 1000),
      key_status: keyStatus,
      assurance: await assuranceOf(db, session),
    } as const
    const { kid, seed } = await receiptKey()
    const receipt = signReceipt(stamp, seen, kid, seed)
    const row = { id: jti, account_id: account, words: wordNumber(stamp), stamp, receipt }
    const isNew = await events.transaction(async (trx) => {
      const made = await trx
        .insertInto('stamps')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst()
      if (made.numInsertedOrUpdatedRows !== 1n) return false
      await events.publish(trx, { type: 'stamp.created', by: session, stamp: jti, at: now() })
      return true
    })
    if (isNew) return { receipt }
    // A device that lost the response sends the stamp again, and gets the first receipt.
    const stored = await db
      .selectFrom('stamps')
      .select('receipt')
      .where('id', '=', jti)
      .where('stamp', '=', stamp)
      .executeTakeFirst()
    if (stored === undefined)
      throw new AppError(
        'conflict',
        'The id or the words of this stamp are taken. Sign again with a new jti.',
      )
    return { receipt: stored.receipt }
  },
})

/**
 * Returns the signer's assurance: `organisation` if the session has an active organisation,
 * `verified_email` if the account has a confirmed mailbox, otherwise `device`. A person without a
 * mailbox always gets `device`, because anyone can create an organisation.
 */
async function assuranceOf(
  db: Kysely<Schema>,
  session: CallerSession,
): Promise<ReceiptPayload['assurance']> {
  const { account } = session
  const isKnown =
    (await primaryAddress(db, account)) !== null ||
    (await organisationOfMachine(db, account)) !== null
  if (!isKnown) return 'device'
  return (await activeOrganisation(db, session)) === null ? 'verified_email' : 'organisation'
}

/** Returns a stamp's three words as one number of 36 bits. */
const wordNumber = (stamp: string) =>
  stampIndices(stamp).reduce((sum, index) => sum * 4096 + index, 0)

/**
 * Verifies a stamp, which must be the account's, and returns its id and the state of its key.
 * Throws Refusal.
 */
async function verified(stamp: string, account: string, entries: readonly string[]) {
  const { payload } = parseJws(stamp, 'stamp+jws')
  requireThat(
    payload.get('iss') === account,
    'wrong_account',
    'the stamp belongs to another account',
  )
  const jti = payload.get('jti')
  requireThat(typeof jti === 'string', 'bad_value', 'jti must be an id')
  try {
    // The key log is trusted (`remembered`), because each entry was verified before it was stored.
    await inSlices(verifyingStamp({ stamp, key_log: entries }, { remembered: () => entries }))
    return { jti, keyStatus: 'active' } as const
  } catch (error) {
    // `verifyingStamp` checks for revocation last, so the rest of the stamp is valid. The receipt
    // records the revocation.
    if (error instanceof Refusal && error.reason === 'revoked_key')
      return { jti, keyStatus: 'revoked' } as const
    throw error
  }
}
