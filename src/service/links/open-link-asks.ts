/**
 * Asking to connect, before the owner of an open link hears of it: a request is kept unconfirmed until a link was followed that went to
 * the mailbox it names. Whoever asks learns nothing about that mailbox. Of the link's token only SHA-256 is kept.
 */
import type { Kysely, Transaction } from 'kysely'
import { is } from 'valibot'
import { Slug } from '../../api/fields.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { newLink } from '../accounts/confirmation-links.ts'
import type { Ground } from '../context.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { askedMessage } from '../mail/messages-from-others.ts'
import { PREFIX, dropUnconfirmed } from './open-link-requests.ts'
import type { Schema } from '../db/schema.ts'

const HOUR_MS = 3_600_000
const LIFETIME_HOURS = 24
/** So many requests come in at the links of one owner in an hour: each has a mail sent to whomever somebody names. */
const MOST_AN_HOUR = 100
/** So many wait there for the owner's answer. */
const MOST_WAITING = 1000
/** Whatever links were used: the mailbox may be a stranger's. */
const MAILS: Allowance = { what: 'open link mail', most: 3, periodMs: HOUR_MS }

/** An open link as its page shows it. */
export interface Shown {
  readonly id: string
  readonly account_id: string
  readonly slug: string
  readonly title: string
  readonly state: 'active' | 'paused'
  /** What its owner calls themselves. */
  readonly owner: string
}

/** What somebody wrote into the form, judged. */
export interface Asked {
  readonly display_name: string
  /** In lower case. */
  readonly email: string
  readonly message: string | null
}

/** The link with a slug, which may be any text; null where there is none. */
export async function findLink(db: Kysely<Schema>, slug: string): Promise<Shown | null> {
  if (!is(Slug, slug)) return null
  const row = await db
    .selectFrom('open_links')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['open_links.id', 'account_id', 'slug', 'title', 'state', 'display_name as owner'])
    .where('slug', '=', slug)
    .executeTakeFirst()
  return row ?? null
}

/** Let others at the same link wait until the transaction ends. Answers its state; null when it is gone. */
export async function holdLink(
  trx: Transaction<Schema>,
  id: string,
): Promise<Shown['state'] | null> {
  const row = await trx
    .updateTable('open_links')
    // Changes nothing. It is how both engines hold a row.
    .set((of) => ({ title: of.ref('title') }))
    .where('id', '=', id)
    .returning('state')
    .executeTakeFirst()
  return row?.state ?? null
}

async function isFull(trx: Transaction<Schema>, owner: string, at: number): Promise<boolean> {
  const counted = trx
    .selectFrom('open_link_requests')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', owner)
  const recent = await counted
    .where('state', 'in', ['unconfirmed', 'pending'])
    .where('created_at', '>', at - HOUR_MS)
    .executeTakeFirstOrThrow()
  if (Number(recent.count) >= MOST_AN_HOUR) return true
  // Only what the owner sees and can answer: else strangers who confirm nothing could close the links for a day.
  const waiting = await counted.where('state', '=', 'pending').executeTakeFirstOrThrow()
  return Number(waiting.count) >= MOST_WAITING
}

const waitsAlready = async (trx: Transaction<Schema>, link: string, email: string) =>
  (await trx
    .selectFrom('open_link_requests')
    .select('id')
    .where('open_link_id', '=', link)
    .where('email', '=', email)
    .where('state', '=', 'pending')
    .executeTakeFirst()) !== undefined

/**
 * Take a request, and mail the link that confirms it.
 * @returns `taken`, which is also told of a mailbox that gets no mail: it had as many as it may in this hour, or waits at this link
 *   already; `full` while too many wait; `paused` and `gone` when the link was, meanwhile
 */
export async function ask(
  ground: Ground,
  link: Shown,
  asked: Asked,
): Promise<'taken' | 'full' | 'paused' | 'gone'> {
  const { db, now, mail, background, publicUrl } = ground
  const { email } = asked
  const server = publicUrl()
  const { link: confirmation, tokenHash } = newLink(server)
  const at = now()
  const became = await db.transaction().execute(async (trx) => {
    const state = await holdLink(trx, link.id)
    if (state !== 'active') return state ?? 'gone'
    if (await isFull(trx, link.account_id, at)) return 'full'
    if (await waitsAlready(trx, link.id, email)) return 'known'
    if (!(await takePlace(trx, MAILS, email, at))) return 'known'
    await trx
      .insertInto('open_link_requests')
      .values({
        ...asked,
        id: newId(PREFIX, at),
        open_link_id: link.id,
        account_id: link.account_id,
        state: 'unconfirmed',
        token_hash: tokenHash,
        connection_id: null,
        created_at: at,
        expires_at: at + LIFETIME_HOURS * HOUR_MS,
      })
      .execute()
    return 'new'
  })
  background.run(() => dropUnconfirmed(ground))
  if (became === 'new') {
    const { display_name: name } = asked
    const of = { to: email, name, owner: link.owner, link: confirmation, hours: LIFETIME_HOURS }
    // Nobody waits: how long a relay takes would tell whether one was asked.
    background.run(() => mail.send(askedMessage({ ...of, publicUrl: server })))
  }
  return became === 'new' || became === 'known' ? 'taken' : became
}
