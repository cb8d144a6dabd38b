/**
 * The e-mail addresses of an account: those that it has proven, and those for which a link was mailed. Whether an address is somebody
 * else's is told to nobody who does not read it: the answer and the mail are the same.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { Email } from '../../api/rest/account.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { isYoung } from './account-age.ts'
import { newLink } from './confirmation-links.ts'
import { accountAt, displayName, primaryAddress } from './account-record.ts'
import { holdApproved } from './device-rows.ts'
import type { Ground } from '../context.ts'
import { type Allowance, forgetPlaces, takePlace } from './mail-allowance.ts'
import { confirmAddressMessage } from '../mail/messages.ts'
import { pageRows } from '../db/page-rows.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const PREFIX = 'eml_'
const HOUR_MS = 3_600_000
const LIFETIME_HOURS = 24
/** Of an account, those included that wait. */
const MOST = 20
const ASKED: Brake = {
  what: 'mailbox',
  most: 10,
  periodMs: HOUR_MS,
  told: 'Too many addresses were added: 10 an hour is the most.',
}
/** Further mails of all accounts together: who reads the mailbox may never have asked for any. */
const FURTHER: Allowance = { what: 'address', most: 9, periodMs: HOUR_MS }

/** Mails of all accounts in their first day together: many accounts are made at once. */
const OF_YOUNG: Allowance = { what: 'address of young accounts', most: 3, periodMs: HOUR_MS }

/**
 * Whether the link is mailed: three an hour for each account and mailbox, of which the first always
 * goes out for an account that is older than a day. So no stranger who asks for the same address
 * keeps its owner from confirming it.
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

/** A machine account signs in with its key: a mailbox would be a second way in. Throws AppError `forbidden`. */
async function demandPerson(db: Kysely<Schema>, account: string): Promise<void> {
  const { kind } = await db
    .selectFrom('accounts')
    .select('kind')
    .where('id', '=', account)
    .executeTakeFirstOrThrow()
  if (kind !== 'person')
    throw new AppError('forbidden', 'A machine account signs in with its key and has no addresses.')
}

/** Throws AppError `conflict` when the account has as many addresses as it may, and this would be one more. */
async function demandRoom(
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
      `An account has at most ${MOST} addresses, those that wait to be confirmed included.`,
    )
}

/** A claim that is over is none: the next one of the same address is new. */
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

/** Keep a claim. One that waits stays as it is, and gets another link when there is one. */
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
      // Without a mail, the link that was mailed before stays the good one.
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
    name: await displayName(trx, account),
    primary: await primaryAddress(trx, account),
    link,
    hours: LIFETIME_HOURS,
    publicUrl,
  })
}

export const emails = (ground: Ground): Service['emails'] => {
  const { db, now, background, mail, publicUrl } = ground

  const forgetExpired = (at: number) => async () => {
    await db.deleteFrom('email_claims').where('expires_at', '<=', at).execute()
    await forgetPlaces(db, at)
  }

  return {
    list: async (page, { account }) => {
      // In this order: one that is confirmed meanwhile is in both, and not in neither.
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
        // What a device that is revoked meanwhile has asked for is forgotten with it.
        if (session.device !== null) await holdApproved(trx, session)
        await demandPerson(trx, account)
        await countTryIn(trx, account, ASKED, at)
        if ((await accountAt(trx, address)) === account)
          throw new AppError('conflict', 'This address is one of your account already.')
        await demandRoom(trx, account, address, at)
        await dropExpired(trx, account, address, at)
        const goesOut = await takeMail(trx, account, address, at)
        const email = await claim(trx, { account, address, tokenHash, goesOut }, at)
        const of = { account, address, link, publicUrl: server }
        return { email, letter: goesOut ? await letterTo(trx, of) : null }
      })
      const { email, letter } = made
      // It is kept already: a relay that is away must not say otherwise.
      if (letter !== null) background.run(() => mail.send(letter))
      background.run(forgetExpired(at))
      return email
    },
  }
}
