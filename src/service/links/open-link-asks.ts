/**
 * Requests at open links before the owner sees them. A request stays unconfirmed until the link
 * that was sent to its mailbox is used. The requester learns nothing about that mailbox. The
 * database stores only the SHA-256 of the link's token.
 */
import type { Kysely, Transaction } from 'kysely'
import { is } from 'valibot'
import { Slug } from '../../api/fields.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { newLink } from '../accounts/confirmation-links.ts'
import type { ServiceContext } from '../context.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { askedMessage } from '../mail/messages-from-others.ts'
import { OPEN_LINK_REQUEST_PREFIX, dropUnconfirmed } from './open-link-requests.ts'
import type { Schema } from '../db/schema.ts'

const HOUR_MS = 3_600_000
const LIFETIME_HOURS = 24
/**
 * The maximum of requests at the links of one owner in an hour. Each causes a mail to an address
 * that a stranger entered.
 */
const MOST_AN_HOUR = 100
/** The maximum of requests that wait for the owner's answer. */
const MOST_WAITING = 1000
/** For all links together: the mailbox may belong to a person who made no request. */
const MAILS: Allowance = { what: 'open link mail', most: 3, periodMs: HOUR_MS }

/** An open link as its page shows it. */
export interface DisplayedOpenLink {
  readonly id: string
  readonly account_id: string
  readonly slug: string
  readonly title: string
  readonly state: 'active' | 'paused'
  /** The display name of its owner. */
  readonly owner: string
}

/** The contents of the form, validated. */
export interface Asked {
  readonly display_name: string
  /** In lower case. */
  readonly email: string
  readonly message: string | null
}

/** Returns the link with a slug, which may be any text; null if there is none. */
export async function findLink(
  db: Kysely<Schema>,
  slug: string,
): Promise<DisplayedOpenLink | null> {
  if (!is(Slug, slug)) return null
  const row = await db
    .selectFrom('open_links')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['open_links.id', 'account_id', 'slug', 'title', 'state', 'display_name as owner'])
    .where('slug', '=', slug)
    .executeTakeFirst()
  return row ?? null
}

/** Locks a link until the transaction ends. Returns its state; null if it no longer exists. */
export async function holdLink(
  trx: Transaction<Schema>,
  id: string,
): Promise<DisplayedOpenLink['state'] | null> {
  const row = await trx
    .updateTable('open_links')
    // Changes nothing: an update is the row lock that both engines support.
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
  // Counts only requests that the owner sees and can answer. Otherwise strangers could close the
  // links for a day with unconfirmed requests.
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
 * Stores a request and mails the link that confirms it.
 * @returns `taken`, also for a mailbox that gets no mail because it had its maximum for this hour
 *   or has a pending request at this link; `full` while too many requests wait; `paused` or
 *   `gone` if the link was paused or deleted in the meantime
 */
export async function ask(
  ground: ServiceContext,
  link: DisplayedOpenLink,
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
        id: newId(OPEN_LINK_REQUEST_PREFIX, at),
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
    // In the background: the time that a relay takes would reveal whether a mail was sent.
    background.run(() => mail.send(askedMessage({ ...of, publicUrl: server })))
  }
  return became === 'new' || became === 'known' ? 'taken' : became
}
