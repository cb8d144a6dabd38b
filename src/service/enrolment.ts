/**
 * Enrolment of the first device of an account. The device made the keys and the account's id; its key log entry says so, and
 * the code says that the person may come in. A device that crashed before it kept the answer presents the same entry again
 * and gets a new session. Key logs are public, so the entry proves nothing then: it takes a code that is that account's.
 */
import type { Transaction } from 'kysely'
import type { Open } from '../api/port.ts'
import { parseJws } from '../crypto/jws.ts'
import { verifyKeyLog } from '../crypto/key-log.ts'
import { demand } from '../crypto/refusal.ts'
import { AppError } from '../errors.ts'
import { bindCode, presentCode } from './enrolment-codes.ts'
import { judged } from './faults.ts'
import type { Ground } from './ground.ts'
import { readKeyLog } from './key-logs.ts'
import type { Schema } from './schema.ts'
import { openSession } from './sessions.ts'

type Body = Parameters<Open['enrolment']['create']>[0]['body']

export const enrolment = (ground: Ground): Open['enrolment'] => ({
  create: async ({ body }) => {
    // Before the code: a device with a faulty entry does not use up the person's tries.
    const { account, device } = judged('entry', () => firstDevice(body.entry))
    const locator = await presentCode(ground, body.code)
    const at = ground.now()
    const session = await ground.db.transaction().execute(async (trx) => {
      const again = await bindCode(trx, locator, account)
      const made = await enrol(trx, account, device, body, at)
      if (!made && !(again && (await beganWith(trx, account, body.entry)))) throw taken()
      return openSession(trx, { account, device }, at)
    })
    return {
      account_id: account,
      device_id: device,
      receipt_key: (await ground.receiptKey()).jwk,
      session,
    }
  },
})

/** The account and device that an entry 0 names, verified. Throws Refusal. */
function firstDevice(entry: string): { account: string; device: string } {
  const account = parseJws(entry, 'keylog+jws').payload.get('account')
  demand(typeof account === 'string', 'bad_value', 'account is an id')
  const { active } = verifyKeyLog(account, [entry])
  return { account, device: active[0]!.id }
}

/** Make the account with its first device; false when it exists. Throws AppError `conflict` for a device of another. */
async function enrol(
  trx: Transaction<Schema>,
  account: string,
  device: string,
  { display_name, device_name, platform, entry }: Body,
  at: number,
): Promise<boolean> {
  const made = await trx
    .insertInto('accounts')
    .values({ id: account, kind: 'person', display_name })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (made.numInsertedOrUpdatedRows !== 1n) return false
  const known = await trx
    .insertInto('devices')
    .values({ id: device, account_id: account, name: device_name, platform })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (known.numInsertedOrUpdatedRows !== 1n) throw taken()
  await trx
    .insertInto('key_log_entries')
    .values({ account_id: account, seq: 0, entry, stored_at: at })
    .execute()
  return true
}

const beganWith = async (trx: Transaction<Schema>, account: string, entry: string) =>
  (await readKeyLog(trx, account)).entries[0] === entry

const taken = () =>
  new AppError('conflict', 'This account or device is enrolled already: make new keys and ids.')
