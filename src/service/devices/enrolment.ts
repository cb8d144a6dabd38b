/**
 * Enrolment of devices. The device made its keys; a code or an assertion says that it may come in, and its key log entry, which
 * account it begins or takes over. A device that crashed before it kept the answer presents the same again and gets a new
 * session. Key logs are public, so the entry proves nothing then: it takes a credential that is that account's.
 */
import type { Transaction } from 'kysely'
import type { Open } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import { type KeyLog, isLinked } from '../../crypto/logs/key-log.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { demand } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { primaryAddress } from '../accounts/account-record.ts'
import { demandNeverUsed } from '../accounts/deleted-accounts.ts'
import {
  addDevice,
  endOtherDevices,
  forgetWaiting,
  holdDevices,
  taken,
} from '../accounts/device-rows.ts'
import { claimCode, refusedCode } from './enrolment-codes.ts'
import { judged } from '../db/faults.ts'
import {
  admitFurther,
  demandKeys,
  demandSealKey,
  nobodyApproves,
  revoked,
} from './further-device.ts'
import type { Ground } from '../context.ts'
import { storeEntry } from './key-log-entries.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import { lockAccount } from '../db/locks.ts'
import { switchOff } from '../accounts/public-code-rows.ts'
import type { Schema } from '../db/schema.ts'
import { openSession } from './sessions.ts'
import { type Credential, present } from './sign-ins.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

type Body = Parameters<Open['enrolment']['create']>[0]['body']

/** Each reset takes one of the generations of a log, and every contact verifies it. */
const RESETS: Brake = {
  what: 'reset',
  most: 10,
  periodMs: 24 * 3_600_000,
  told: 'This account was reset 10 times in a day.',
}

interface Place {
  readonly account: string
  readonly device: string
}

export const enrolment = (ground: Ground): Open['enrolment'] => {
  const { db, events, now } = ground

  /** What `admit` lets in gets a session, in the same transaction. */
  async function enrol(
    credential: Credential,
    { place, within = false }: { place: Place; within?: boolean | undefined },
    admit: (trx: Transaction<Schema>, opens: boolean) => Promise<void>,
  ) {
    const made = await events.transaction(async (trx) => {
      const opens = await claim(trx, credential, place)
      if (opens) {
        await holdDevices(trx, place.account)
        // One at a time: of a device that presents itself twice, the second finds what the first began.
        await lockAccount(trx, place.account)
      }
      await admit(trx, opens)
      const session = await openSession(trx, { ...place, within }, now())
      const { approved_at } = await trx
        .selectFrom('devices')
        .select('approved_at')
        .where('id', '=', place.device)
        .executeTakeFirstOrThrow()
      await events.publish(trx, { type: 'account.signed_in', account: place.account, at: now() })
      return { session, approved: approved_at !== null }
    })
    const receipt_key = (await ground.receiptKey()).jwk
    return { account_id: place.account, device_id: place.device, receipt_key, ...made }
  }

  return {
    create: async ({ body }, { within }) => {
      const credential = await present(ground, body)
      const place = judged('entry', () => placeOf(body.entry))
      return enrol(credential, { place, within }, async (trx, opens) => {
        const { entries } = await entriesOf(trx, place.account)
        const owner = entries.length === 0 ? null : place.account
        if (owner !== null && !opens) throw taken()
        if (entries.includes(body.entry)) return demandLive(trx, place.device)
        const { payload } = parseJws(body.entry, 'keylog+jws')
        const first = payload.get('op') === 'add'
        if (first && owner !== null) throw begunAlready()
        if (!first) await demandPrimary(trx, place.account, credential)
        const log = await begin(trx, ground, { place, body, credential, entries, at: now() })
        if (first) return
        // `begin` has verified the signature of a recovery key.
        const withKey = payload.has('recovery_sig')
        // Those by a recovery key count apart for each line of generations that it links: neither
        // resets without one, nor those of a thief by a key of their own, use up the owner's.
        const about = withKey ? `signed${lineOf(log)}x` : 'unsigned'
        await countTryIn(trx, place.account, RESETS, now(), about)
        await endOtherDevices(trx, place, now())
        await switchOff(trx, place.account)
        await events.publish(trx, {
          type: 'account.reset',
          ...place,
          deviceName: body.device_name,
          withKey,
          at: now(),
        })
      })
    },

    further: async ({ body }) => {
      const credential = await present(ground, body)
      judged('keys', () => demandKeys(body.keys))
      const { account } = credential
      if (account === null) throw nobodyApproves()
      await forgetWaiting(db, now())
      const place = { account, device: body.device }
      return enrol(credential, { place }, (trx) => admitFurther(trx, account, body, now()))
    },
  }
}

/** Whom an entry names; not verified. Throws Refusal. */
function placeOf(entry: string): Place {
  const { payload } = parseJws(entry, 'keylog+jws')
  const [account, device] = [payload.get('account'), payload.get('device')]
  demand(typeof account === 'string', 'bad_value', 'account is an id')
  demand(typeof device === 'string', 'bad_value', 'device is an id')
  return { account, device }
}

/**
 * Use a credential for one device of one account. Answers whether it opens that account, should it exist; throws AppError
 * `invalid_token` when it serves another.
 */
async function claim(
  trx: Transaction<Schema>,
  { account, machine, code }: Credential,
  place: Place,
): Promise<boolean> {
  if (machine !== null) return (await accountOfMachine(trx, machine)) === place.account
  if (account !== null && account !== place.account)
    throw code === null ? otherMachine() : refusedCode()
  const again = code !== null && (await claimCode(trx, code, place))
  return again || account !== null
}

/**
 * The account that a machine has by now: presented twice at a moment, its first device has made it.
 * The row is held, so that the second waits for the first: before it, there was no account to hold.
 */
async function accountOfMachine(trx: Transaction<Schema>, machine: string): Promise<string> {
  const { account_id } = await trx
    .updateTable('machines')
    .set((of) => ({ id: of.ref('id') }))
    .where('id', '=', machine)
    .returning('account_id')
    .executeTakeFirstOrThrow()
  return account_id
}

/**
 * Whoever has a token of scope `write` can add an address, which must not be enough to take the account over. Throws AppError
 * `forbidden` for a code that was mailed elsewhere than to the primary address.
 */
async function demandPrimary(
  trx: Transaction<Schema>,
  account: string,
  { code }: Credential,
): Promise<void> {
  const email = code?.email ?? null
  if (email === null || (await primaryAddress(trx, account)) === email) return
  throw new AppError(
    'forbidden',
    'An account is reset with a code that was mailed to its primary address, and this is another of its addresses. With a device ' +
      'that is left, sign in with this one and have it approved there.',
  )
}

interface Beginning {
  readonly place: Place
  readonly body: Body
  readonly credential: Credential
  readonly entries: readonly string[]
  readonly at: number
}

/** Keep the entry that begins an account or takes it over, with its device. */
async function begin(
  trx: Transaction<Schema>,
  ground: Pick<Ground, 'events'>,
  { place, body, credential, entries, at }: Beginning,
): Promise<KeyLog> {
  const { account, device } = place
  await demandNeverUsed(trx, account)
  const isNew = await makeAccount(trx, credential, account, body.display_name)
  const of = { account, entries, entry: body.entry, at }
  const log = await storeEntry(trx, ground, of, () => undefined)
  const { keys } = log.devices.get(device)!
  demandSealKey(body.seal_key, keys.seal)
  const { device_name: name, platform, seal_key } = body
  const row = { id: device, account_id: account, name, platform, seal_key }
  const auth_kid = thumbprint(keys.auth)
  await addDevice(trx, { ...row, auth_kid, keys: null, approved_at: at }, at)
  const email = credential.code?.email ?? null
  if (isNew && email !== null) await provenAddress(trx, email, account, at)
  return log
}

/** The first generation, counted from 1, to which the newest one is linked. */
const lineOf = (log: KeyLog): number =>
  1 + log.generations.findIndex((_, at) => isLinked(log, at + 1, log.generations.length))

/**
 * Make the account where there is none: of a machine, which is registered already, or of a person.
 * @returns whether it was made
 * @throws AppError `conflict` where the credential does not open the one that is there, or the
 *   machine has begun another
 */
async function makeAccount(
  trx: Transaction<Schema>,
  { account, machine }: Credential,
  id: string,
  display_name: string,
): Promise<boolean> {
  if (machine !== null) {
    const { numUpdatedRows: named } = await trx
      .updateTable('accounts')
      .set({ id })
      .where('id', '=', machine)
      .executeTakeFirstOrThrow()
    if (named !== 1n) throw begunAlready()
    return true
  }
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('accounts')
    .values({ id, kind: 'person', display_name })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (made !== 1n && account === null) throw taken()
  return made === 1n
}

/** The code proved the mailbox. Throws AppError `invalid_token` when it became another account's meanwhile. */
async function provenAddress(
  trx: Transaction<Schema>,
  address: string,
  account: string,
  at: number,
): Promise<void> {
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('emails')
    .values({ address, account_id: account, is_primary: 1, verified_at: at, id: newId('eml_', at) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (made !== 1n) throw refusedCode()
}

/** Its entry is in the log, and says nothing of what came later. */
async function demandLive(trx: Transaction<Schema>, device: string): Promise<void> {
  const row = await trx
    .selectFrom('devices')
    .select('revoked_at')
    .where('id', '=', device)
    .executeTakeFirst()
  if (row === undefined) throw taken()
  if (row.revoked_at !== null) throw revoked()
}

/** Only who may open the account is told. */
const begunAlready = () =>
  new AppError(
    'conflict',
    'This account has a first device already: enrol as a further one, or reset it.',
  )

const otherMachine = () =>
  new AppError('invalid_token', 'The assertion is of another account than the entry.')
