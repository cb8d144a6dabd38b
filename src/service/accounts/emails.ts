/**
 * An account's mail addresses: confirmed addresses, and claims with a pending confirmation link.
 * Response and mail are the same whether or not another account has the address, so only the reader
 * of the mailbox learns that.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { Email } from '../../api/rest/account.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { type Allowance, isYoung, takePlace } from './mail-allowance.ts'
import { newLink } from './email-claims.ts'
import { accountAt, displayName, primaryAddress } from './account-record.ts'
import { holdApproved } from './device-rows.ts'
import { readerOf } from './readers.ts'
import type { ServiceContext } from '../context.ts'
import { confirmAddressMessage } from '../mail/messages.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import { newSweep } from '../db/sweeps.ts'

const PREFIX = 'eml_'
const HOUR_MS = 3_600_000
const LIFETIME_HOURS = 24
/** How often expired claims are deleted, in milliseconds. */
const SWEEP_MS = 60_000
/** The maximum number of addresses of an account, including pending ones. */
const MOST = 20
const ASKED: Brake = {
  what: 'mailbox',
  most: 10,
  periodMs: HOUR_MS,
  message: 'Too many addresses were added. The limit is 10 an hour.',
}
/**
 * The limit for repeated mails to one mailbox, for all accounts together. The mailbox's reader may
 * not have requested any of them.
 */
const FURTHER: Allowance = { what: 'address', most: 9, periodMs: HOUR_MS }

/**
 * The limit for mails to one mailbox, shared by all accounts that are less than a day old. One
 * attacker can create many accounts at once.
 */
const OF_YOUNG: Allowance = { what: 'address of young accounts', most: 3, periodMs: HOUR_MS }

/**
 * Counts a mail and returns whether to send it. At most three per hour are sent for each account
 * and mailbox. If the account is older than a day, the first of them is always sent, so that
 * strangers who request the same address cannot prevent its owner from confirming it.
 */
async function takeMail(
  trx: Transaction<Schema>,
  account: string,
  address: string,
  at: number,
): Promise<boolean> {
  const isCrowded =
    (await isYoung(trx, account, at)) && !(await takePlace(trx, OF_YOUNG, address, at))
  if (isCrowded) return false
  const of = { periodMs: HOUR_MS }
  if (await takePlace(trx, { ...of, what: `address of ${account}`, most: 1 }, address, at))
    return true
  const further = { ...of, what: `address again of ${account}`, most: 2 }
  return (
    (await takePlace(trx, further, address, at)) && (await takePlace(trx, FURTHER, address, at))
  )
}

const claimed = (row: Pick<Schema['email_claims'], 'id' | 'address' | 'created_at'>): Email => ({
  id: row.id,
  address: row.address,
  primary: false,
  verified: false,
  created_at: timeAt(row.created_at),
})

const proven = (row: Schema['emails']): Email => ({
  id: row.id,
  address: row.address,
  primary: row.is_primary === 1,
  verified: true,
  created_at: timeAt(row.created_at ?? row.verified_at),
})

const claimsOf = (db: Kysely<Schema>, account: string, at: number) =>
  db.selectFrom('email_claims').where('account_id', '=', account).where('expires_at', '>', at)

/**
 * Throws AppError `forbidden` for a machine account. It signs in with its key, and a mailbox would
 * be a second way to sign in.
 */
async function requirePerson(db: Kysely<Schema>, account: string): Promise<void> {
  const { kind } = await db
    .selectFrom('accounts')
    .select('kind')
    .where('id', '=', account)
    .executeTakeFirstOrThrow()
  if (kind !== 'person')
    throw new AppError('forbidden', 'A machine account signs in with its key and has no addresses.')
}

/**
 * Throws AppError `conflict` if the account has the maximum number of addresses and this one is
 * new.
 */
async function requireRoom(
  trx: Transaction<Schema>,
  account: string,
  address: string,
  at: number,
): Promise<void> {
  const { have } = await trx
    .selectFrom('emails')
    .select(({ fn }) => fn.countAll<number>().as('have'))
    .where('account_id', '=', account)
    .executeTakeFirstOrThrow()
  const { want } = await claimsOf(trx, account, at)
    .select(({ fn }) => fn.countAll<number>().as('want'))
    .where('address', '!=', address)
    .executeTakeFirstOrThrow()
  if (Number(have) + Number(want) >= MOST)
    throw new AppError(
      'conflict',
      `An account can have at most ${MOST} addresses, including those that wait to be confirmed.`,
    )
}

/** Deletes an expired claim, so that the next claim of the same address is new. */
async function dropExpired(
  trx: Transaction<Schema>,
  account: string,
  address: string,
  at: number,
): Promise<void> {
  await trx
    .deleteFrom('email_claims')
    .where('account_id', '=', account)
    .where('address', '=', address)
    .where('expires_at', '<=', at)
    .execute()
}

/**
 * Stores a claim. If the claim already exists, only its link is replaced, and only if a mail is
 * sent.
 */
async function claim(
  trx: Transaction<Schema>,
  of: { account: string; address: string; tokenHash: string; goesOut: boolean },
  at: number,
): Promise<Email> {
  const { account: account_id, address, tokenHash: token_hash, goesOut } = of
  const link = { token_hash, expires_at: at + LIFETIME_HOURS * HOUR_MS }
  const row = await trx
    .insertInto('email_claims')
    .values({ id: newId(PREFIX, at), account_id, address, created_at: at, ...link })
    .onConflict((conflict) =>
      // If no mail is sent, the link in the previous mail stays valid.
      conflict.columns(['account_id', 'address']).doUpdateSet(goesOut ? link : { address }),
    )
    .returning(['id', 'address', 'created_at'])
    .executeTakeFirstOrThrow()
  return claimed(row)
}

async function letterTo(
  trx: Transaction<Schema>,
  of: { account: string; address: string; link: string; publicUrl: string },
) {
  const { account, address, link, publicUrl } = of
  return confirmAddressMessage({
    to: address,
    reader: await readerOf(trx, account),
    name: await displayName(trx, account),
    primary: await primaryAddress(trx, account),
    link,
    hours: LIFETIME_HOURS,
    publicUrl,
  })
}

export const emails = (ground: ServiceContext): Service['emails'] => {
  const { db, now, background, mail, publicUrl } = ground

  const sweepClaims = newSweep(ground, {
    name: 'sweep of mailbox claims',
    everyMs: SWEEP_MS,
    batch: (at, most) =>
      db
        .deleteFrom('email_claims')
        .where('expires_at', '<=', at)
        .where('id', 'in', (of) =>
          of.selectFrom('email_claims').select('id').where('expires_at', '<=', at).limit(most),
        )
        .executeTakeFirstOrThrow(),
  })

  return {
    list: async (page, { account }) => {
      // Claims are read before addresses. An address that is confirmed in between is then in both
      // lists, instead of in neither.
      const want = await pageRows(
        claimsOf(db, account, now()).select(['id', 'address', 'created_at']),
        page,
        PREFIX,
      )
      const have = await pageRows(
        db.selectFrom('emails').selectAll().where('account_id', '=', account),
        page,
        PREFIX,
      )
      const known = new Set(have.map(({ id }) => id))
      const items = [...have.map(proven), ...want.filter(({ id }) => !known.has(id)).map(claimed)]
      return pageOf(
        items.sort((a, b) => (a.id < b.id ? 1 : -1)),
        page,
      )
    },

    create: async ({ body }, session) => {
      const { account } = session
      const address = body.address.toLowerCase()
      const at = now()
      const server = publicUrl()
      const { link, tokenHash } = newLink(server)
      const made = await db.transaction().execute(async (trx) => {
        // Because of this lock, a revocation of the device waits and then also deletes this claim.
        if (session.device !== null) await holdApproved(trx, session)
        await requirePerson(trx, account)
        await countTryIn(trx, account, ASKED, at)
        if ((await accountAt(trx, address)) === account)
          throw new AppError('conflict', 'Your account already has this address.')
        await requireRoom(trx, account, address, at)
        await dropExpired(trx, account, address, at)
        const goesOut = await takeMail(trx, account, address, at)
        const email = await claim(trx, { account, address, tokenHash, goesOut }, at)
        const of = { account, address, link, publicUrl: server }
        return { email, letter: goesOut ? await letterTo(trx, of) : null }
      })
      const { email, letter } = made
      // The claim is stored already, so a relay failure must not turn the answer into an error.
      if (letter !== null) background.run(() => mail.send(letter))
      sweepClaims()
      ground.seenOnce.sweep()
      return { ...email, mailed: mail.isRelayed }
    },
  }
}
