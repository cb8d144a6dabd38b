/**
 * Enrolment codes, which prove that a person may have an account on this server. A code has 16
 * characters. The first four are its locator, which tells against which code a wrong guess counts.
 * The other twelve (60 bits) are its secret, which is too long to be found from its hash while the
 * code is valid. Five wrong guesses invalidate a code. A code can be used by one device of one
 * account: the account for which it was made, or the account with the mailbox to which it was sent,
 * or otherwise the account that the first device creates.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { AppError } from '../../errors.ts'
import { accountAt } from '../accounts/account-record.ts'
import type { ServiceContext } from '../context.ts'
import { domainOf, mailboxOf } from '../accounts/mail-allowance.ts'
import type { Schema } from '../db/schema.ts'
import { acquireLock } from '../db/locks.ts'

export const LIFETIME_MS = 15 * 60_000
const TRIES = 5
/**
 * How many mailed codes may be valid at the same time for one address. The next limit is for all
 * tagged addresses of one mailbox together. The operator sets the limits for a domain and for the
 * whole server. All limit mail to strangers.
 */
const LIVE_OF_ADDRESS = 5
const LIVE_OF_TAGS = 5
/** How many locators are tried for a new code. Few of the million locators are in use. */
const NAMES = 20
/** Stored in place of a hash. No code matches such a row. */
const WITHHELD = ''
const LOCATOR = 4
const LENGTH = 16

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const FORM = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)

const hashed = (text: string) => hash('sha256', text, 'hex')
const randomText = () =>
  Array.from(randomBytes(LENGTH), (byte) => ALPHABET.charAt(byte & 31)).join('')

/**
 * Normalises a typed code: case, hyphens, spaces, and letters that look like digits (Crockford
 * base32).
 */
const normal = (code: string) =>
  code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')

/** Returns the error for a code that does not give the requested access, whatever the reason. */
export const refusedCode = (): AppError =>
  new AppError('invalid_token', 'This enrolment code is wrong, used or expired. Ask for a new one.')

type Needs = Pick<ServiceContext, 'db' | 'now'>
type MailNeeds = Pick<ServiceContext, 'db' | 'now' | 'mailedCodes'>

interface NewCode {
  readonly locator: string
  /** The code in the form that users see and type. */
  readonly code: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/**
 * Creates and stores a code.
 * @param of `isWithheld`: the code counts towards limits but never matches
 * @throws AppError `rate_limited` if no free locator was found
 */
async function makeCode(
  { db, now }: Needs,
  of: { account: string | null; email: string | null; isWithheld: boolean },
): Promise<NewCode> {
  const at = now()
  await db.deleteFrom('enrolment_codes').where('expires_at', '<=', at).execute()
  for (let tried = 0; tried < NAMES; tried++) {
    const text = randomText()
    const locator = text.slice(0, LOCATOR)
    const expiresAt = at + LIFETIME_MS
    const { numInsertedOrUpdatedRows: made } = await db
      .insertInto('enrolment_codes')
      .values({
        locator,
        secret_hash: of.isWithheld ? WITHHELD : hashed(text.slice(LOCATOR)),
        account_id: of.account,
        email: of.email,
        device_id: null,
        tries: 0,
        expires_at: expiresAt,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    // If nothing was inserted, another valid code has this locator.
    if (made === 1n) return { locator, code: text.replace(/(.{4})(?!$)/g, '$1-'), expiresAt }
  }
  throw tooMany('This account server cannot store another code. Try again', 60_000)
}

const dropCode = (db: Kysely<Schema>, locator: string) =>
  db.deleteFrom('enrolment_codes').where('locator', '=', locator).execute()

/**
 * Creates a code for the operator, who gives it to a user. Anyone who has the code can enrol.
 * @param account the only account that may use the code; null for the first account that uses it
 */
export const newEnrolmentCode = async (needs: Needs, account: string | null): Promise<string> =>
  (await makeCode(needs, { account, email: null, isWithheld: false })).code

/**
 * Creates a code for a mail address and sends it. If sending fails, the code does not count. If a
 * mailbox's tagged addresses have the maximum number of codes, the code is withheld: it counts for
 * its address, but is neither sent nor valid. So the responses do not reveal which of the tagged
 * addresses have an account.
 * @param address in lower case
 * @param send mails the code
 * @returns the code's expiry time, Unix milliseconds
 * @throws AppError `rate_limited` if five codes for the address are valid, or as many for its
 *   domain or on the whole server as the operator allows; and errors of `send`
 */
export async function sendEnrolmentCode(
  needs: MailNeeds,
  address: string,
  send: (code: string) => Promise<void>,
): Promise<number> {
  const { db, now, mailedCodes } = needs
  const { locator, code, expiresAt, isWithheld } = await db.transaction().execute(async (trx) => {
    // Because of this lock, concurrent requests cannot exceed the limits together.
    await acquireLock(trx, 'turn of mailed codes')
    await requireRoom({ db: trx, now, mailedCodes }, address)
    const isWithheld = await areTagsFull(trx, address, now())
    const made = await makeCode({ db: trx, now }, { account: null, email: address, isWithheld })
    return { ...made, isWithheld }
  })
  if (isWithheld) return expiresAt
  try {
    await send(code)
  } catch (error) {
    await dropCode(db, locator)
    throw error
  }
  return expiresAt
}

/**
 * Throws AppError `rate_limited` if too many mailed codes are valid. The error has the time until
 * the oldest of them expires.
 */
async function requireRoom(needs: MailNeeds, address: string): Promise<void> {
  const { db, now } = needs
  const at = now()
  if ((await lackOfRoom(needs, at, address)) === null) return
  // Deletes codes that were created while a clock was wrong. No other code can expire this late: a
  // code is valid for one lifetime, and the clocks of replicas differ by less than one lifetime.
  await db
    .deleteFrom('enrolment_codes')
    .where('expires_at', '>', at + 2 * LIFETIME_MS)
    .execute()
  const lack = await lackOfRoom(needs, at, address)
  if (lack !== null) throw lack
}

/** Returns the error if no other code may be mailed now, or null. */
async function lackOfRoom(
  { db, mailedCodes: { ofServer, ofDomain } }: MailNeeds,
  at: number,
  address: string,
): Promise<AppError | null> {
  const live = db
    .selectFrom('enrolment_codes')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('expires_at').as('first')])
    .where('expires_at', '>', at)
  const there = await live.where('email', '=', address).executeTakeFirstOrThrow()
  if (there.count >= LIVE_OF_ADDRESS)
    return tooMany(
      'Too many codes were sent to this address. Use the newest code if you have not used it yet, or try again',
      there.first - at,
      // Tells the client that the mailbox's reader already has a valid code.
      { state: 'code_sent' },
    )
  if (ofDomain !== null) {
    // No wildcard can occur in a domain.
    const ofAll = live.where('email', 'like', `%@${domainOf(address)}`)
    const inDomain = await ofAll.executeTakeFirstOrThrow()
    if (inDomain.count >= ofDomain)
      return tooMany(
        'This account server has reached its limit of codes for this mail domain for now. Use a code that you have, or try again',
        inDomain.first - at,
      )
  }
  const anywhere = await live.where('email', 'is not', null).executeTakeFirstOrThrow()
  return anywhere.count >= ofServer
    ? tooMany(
        'This account server has reached its limit of codes for now. Use a code that you have, or try again',
        anywhere.first - at,
      )
    : null
}

/**
 * Returns whether a code for this address must be withheld because of the limit for tagged
 * addresses. That limit is for all tagged addresses of a mailbox together, except confirmed
 * addresses. They are not limited this way, so that strangers cannot prevent their owners from
 * signing in.
 */
async function areTagsFull(
  trx: Transaction<Schema>,
  address: string,
  at: number,
): Promise<boolean> {
  const mailbox = mailboxOf(address)
  if (mailbox === address || (await accountAt(trx, address)) !== null) return false
  const local = mailbox.slice(0, mailbox.lastIndexOf('@'))
  const { count } = await trx
    .selectFrom('enrolment_codes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('expires_at', '>', at)
    .where('secret_hash', '!=', WITHHELD)
    // The range contains all addresses in which a plus sign follows the local part, because the
    // comma is the next character. No wildcard can occur in a domain.
    .where('email', '>=', `${local}+`)
    .where('email', '<', `${local},`)
    .where('email', 'like', `%@${domainOf(mailbox)}`)
    .executeTakeFirstOrThrow()
  return Number(count) >= LIVE_OF_TAGS
}

function tooMany(what: string, waitMs: number, details: { state?: string } = {}): AppError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  const minutes = Math.ceil(seconds / 60)
  return new AppError(
    'rate_limited',
    `${what} in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    { details, headers: { 'Retry-After': String(seconds) } },
  )
}

export interface PresentedCode {
  readonly locator: string
  /** The mailbox to which the code was sent; null for a code made by the operator. */
  readonly email: string | null
  /** The only account that the code may enrol; null if it may create an account. */
  readonly account: string | null
}

/**
 * Checks a presented code. A wrong secret counts as a guess against the code with that locator.
 * Must run outside the caller's transaction, because a rollback must not undo the count.
 * @throws AppError `invalid_token`
 */
export async function presentCode({ db, now }: Needs, code: string): Promise<PresentedCode> {
  const text = normal(code)
  if (!FORM.test(text)) throw refusedCode()
  const secretHash = hashed(text.slice(LOCATOR))
  // One statement counts and compares, so that concurrent requests cannot make extra guesses.
  const row = await db
    .updateTable('enrolment_codes')
    .set((of) => ({
      tries: of
        .case()
        .when('secret_hash', '=', secretHash)
        .then(of.ref('tries'))
        .else(of('tries', '+', 1))
        .end(),
    }))
    .where('locator', '=', text.slice(0, LOCATOR))
    .where('tries', '<', TRIES)
    .where('expires_at', '>', now())
    .returning(['locator', 'secret_hash', 'account_id', 'email'])
    .executeTakeFirst()
  if (row?.secret_hash !== secretHash) throw refusedCode()
  const { locator, email } = row
  const account = row.account_id ?? (email === null ? null : await accountAt(db, email))
  return { locator, email, account }
}

/**
 * Binds a presented code to the device that uses it. Returns whether it was already bound to that
 * device.
 * @throws AppError `invalid_token` if the code is bound to another device or account
 */
export async function claimCode(
  trx: Transaction<Schema>,
  { locator }: PresentedCode,
  { account, device }: { account: string; device: string },
): Promise<boolean> {
  const { numUpdatedRows: claimed } = await trx
    .updateTable('enrolment_codes')
    .set({ account_id: account, device_id: device })
    .where('locator', '=', locator)
    .where('device_id', 'is', null)
    .where((where) => where('account_id', 'is', null).or('account_id', '=', account))
    .executeTakeFirst()
  if (claimed === 1n) return false
  const row = await trx
    .selectFrom('enrolment_codes')
    .select('locator')
    .where('locator', '=', locator)
    .where('account_id', '=', account)
    .where('device_id', '=', device)
    .executeTakeFirst()
  if (row === undefined) throw refusedCode()
  return true
}
