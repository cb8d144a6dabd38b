/**
 * Device enrolment. The device generates its keys. A code or an assertion authorises it, and it
 * sends a key log entry that begins an account or resets an existing one. If the device crashed
 * before it stored the response, it sends the same entry again and gets a new session. In that case
 * the entry proves nothing, because key logs are public, so the server requires a credential of the
 * account.
 */
import type { Transaction } from 'kysely'
import type { Open } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import { isLinked } from '../../crypto/logs/generations.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { primaryAddress } from '../accounts/account-record.ts'
import { organisationOfMachine } from '../accounts/active-organisation.ts'
import { requireNeverUsed } from '../accounts/deleted-accounts.ts'
import {
  insertDevice,
  endOtherDevices,
  forgetWaiting,
  holdDevices,
  taken,
} from '../accounts/device-rows.ts'
import { claimCode, refusedCode } from './enrolment-codes.ts'
import { verified } from '../db/faults.ts'
import {
  admitFurther,
  requireKeys,
  requireSealKey,
  nobodyApproves,
  revoked,
} from './further-device.ts'
import type { ServiceContext } from '../context.ts'
import { storeEntry } from './key-log-entries.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import { lockAccount } from '../db/locks.ts'
import { switchOff } from '../accounts/public-code-rows.ts'
import type { Schema } from '../db/schema.ts'
import { openSession } from './sessions.ts'
import { type Credential, checkCredential } from './sign-ins.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import { makeMarks, markChanged } from '../db/sync-marks.ts'

type Body = Parameters<Open['enrolment']['create']>[0]['body']

/**
 * The limit for resets. Each reset uses one of the limited number of generations of a key log, and
 * every contact must verify it.
 */
const RESETS: Brake = {
  what: 'reset',
  most: 10,
  periodMs: 24 * 3_600_000,
  message: 'This account was reset 10 times in a day, which is the limit.',
}

interface Place {
  readonly account: string
  readonly device: string
}

export const enrolment = (ground: ServiceContext): Open['enrolment'] => {
  const { db, events, now } = ground

  /** Runs `admit` and opens a session for the device in the same transaction. */
  async function enrol(
    credential: Credential,
    { place, within = false }: { place: Place; within?: boolean | undefined },
    admit: (trx: Transaction<Schema>, opens: boolean) => Promise<void>,
  ) {
    const made = await events.transaction(async (trx) => {
      const opens = await claim(trx, credential, place)
      if (opens) {
        await holdDevices(trx, place.account)
        // Because of this lock, of two concurrent enrolments by the same device, the second sees
        // the result of the first.
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
      const credential = await checkCredential(ground, body)
      const place = verified('entry', () => placeOf(body.entry))
      return enrol(credential, { place, within }, async (trx, opens) => {
        const { entries } = await entriesOf(trx, place.account)
        const owner = entries.length === 0 ? null : place.account
        if (owner !== null && !opens) throw taken()
        if (entries.includes(body.entry)) return requireLive(trx, place.device)
        const { payload } = parseJws(body.entry, 'keylog+jws')
        const first = payload.get('op') === 'add'
        if (first && owner !== null) throw begunAlready()
        if (!first) await requirePrimary(trx, place.account, credential)
        const log = await begin(trx, ground, { place, body, credential, entries, at: now() })
        if (first) return
        // `begin` has verified the signature of the recovery key.
        const withKey = payload.has('recovery_sig')
        // Resets signed by a recovery key are counted separately for each line of linked
        // generations. So resets without a recovery key, or with a thief's own recovery key, do not
        // use up the owner's limit.
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
      const credential = await checkCredential(ground, body)
      verified('keys', () => requireKeys(body.keys))
      const { account } = credential
      if (account === null) throw nobodyApproves()
      await forgetWaiting(db, now())
      const place = { account, device: body.device }
      return enrol(credential, { place }, (trx) => admitFurther(trx, account, body, now()))
    },
  }
}

/** Returns the account and device that an entry names. They are not verified. Throws Refusal. */
function placeOf(entry: string): Place {
  const { payload } = parseJws(entry, 'keylog+jws')
  const [account, device] = [payload.get('account'), payload.get('device')]
  requireThat(typeof account === 'string', 'bad_value', 'account must be an id')
  requireThat(typeof device === 'string', 'bad_value', 'device must be an id')
  return { account, device }
}

/**
 * Uses up a credential for one device of one account. Returns whether the credential gives access
 * to that account if the account already exists.
 * @throws AppError `invalid_token` if the credential is for another account
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
 * Returns a machine's current account id. The update changes nothing but locks the machine's row.
 * So if there are two concurrent requests, the second sees the account that the first creates. The
 * account cannot be locked instead, because it does not exist before.
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
 * Checks that a mailed code was sent to the account's primary address. Other addresses must not
 * suffice to reset the account, because a token with the scope `write` can add one.
 * @throws AppError `forbidden`
 */
async function requirePrimary(
  trx: Transaction<Schema>,
  account: string,
  { code }: Credential,
): Promise<void> {
  const email = code?.email ?? null
  if (email === null || (await primaryAddress(trx, account)) === email) return
  throw new AppError(
    'forbidden',
    'An account can be reset only with a code mailed to its primary address, and this is another of its addresses. If you have a device ' +
      'left, sign in with this address and approve the new device there.',
  )
}

interface Beginning {
  readonly place: Place
  readonly body: Body
  readonly credential: Credential
  readonly entries: readonly string[]
  readonly at: number
}

/** Stores the entry that begins or resets an account, with the device that signed it. */
async function begin(
  trx: Transaction<Schema>,
  ground: Pick<ServiceContext, 'events'>,
  { place, body, credential, entries, at }: Beginning,
): Promise<KeyLog> {
  const { account, device } = place
  await requireNeverUsed(trx, account)
  const isNew = await makeAccount(trx, credential, account, body.display_name)
  const of = { account, entries, entry: body.entry, at }
  const log = await storeEntry(trx, ground, of, () => undefined)
  const { keys } = log.devices.get(device)!
  requireSealKey(body.seal_key, keys.seal)
  const { device_name: name, platform, seal_key } = body
  const row = { id: device, account_id: account, name, platform, seal_key }
  const auth_kid = thumbprint(keys.auth)
  await insertDevice(trx, { ...row, auth_kid, keys: null, approved_at: at }, at)
  const email = credential.code?.email ?? null
  if (isNew && email !== null) await provenAddress(trx, email, account, at)
  return log
}

/** Returns the first generation (counted from 1) to which the newest generation is linked. */
const lineOf = (log: KeyLog): number =>
  1 + log.generations.findIndex((_, at) => isLinked(log, at + 1, log.generations.length))

/**
 * Creates a person's account if it does not exist, or gives a registered machine its account id.
 * @returns whether the account is new
 * @throws AppError `conflict` if the account exists and the credential gives no access to it, or if
 *   the machine already has another account
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
    // The trust cards for the machine now name its new account id.
    markChanged(trx, ['trust_cards'], { followersOf: [id] })
    // The list of members too.
    const organisation = await organisationOfMachine(trx, id)
    markChanged(trx, ['organisations'], {
      organisations: organisation === null ? [] : [organisation],
    })
    return true
  }
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('accounts')
    .values({ id, kind: 'person', display_name })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (made !== 1n && account === null) throw taken()
  if (made === 1n) await makeMarks(trx, id, 0)
  return made === 1n
}

/**
 * Adds the mailbox to which the code was sent, as the account's confirmed primary address.
 * @throws AppError `invalid_token` if another account has confirmed it since
 */
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

/** Checks that the device was not revoked after its entry was added to the log. */
async function requireLive(trx: Transaction<Schema>, device: string): Promise<void> {
  const row = await trx
    .selectFrom('devices')
    .select('revoked_at')
    .where('id', '=', device)
    .executeTakeFirst()
  if (row === undefined) throw taken()
  if (row.revoked_at !== null) throw revoked()
}

/** Return this error only to callers with a credential of the account. */
const begunAlready = () =>
  new AppError(
    'conflict',
    'This account already has a first device. Enrol as a further device, or reset the account.',
  )

const otherMachine = () =>
  new AppError('invalid_token', 'The assertion and the entry belong to different accounts.')
