/**
 * Requests at open links that are not confirmed yet. A request is unconfirmed until the link that
 * was mailed to its mailbox is used. Then the owner is notified and can see the request. The
 * requester learns nothing about the mailbox. The database stores only the SHA-256 of the mailed
 * link's token.
 */
import type { Kysely, Transaction } from 'kysely'
import { is } from 'valibot'
import { Slug } from '../../api/fields.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { ANY_READER, type Language } from '../../languages/languages.ts'
import { newLink } from '../accounts/email-claims.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { readerAt } from '../accounts/readers.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import { askedMessage } from '../mail/messages-from-others.ts'
import { dropUnconfirmed, OPEN_LINK_REQUEST_PREFIX } from './open-link-requests.ts'

const HOUR_MS = 3_600_000
const LIFETIME_HOURS = 24
/**
 * How many requests per hour all links of one owner accept. Each request causes a mail to an
 * address that a stranger entered.
 */
const MOST_AN_HOUR = 100
/** How many requests may wait for the owner's answer. */
const MOST_WAITING = 1000
/**
 * The limit for mails to one mailbox, for all links together. The mailbox may belong to a person
 * who made no request.
 */
const MAILS: Allowance = { what: 'open link mail', most: 3, periodMs: HOUR_MS }

/** An open link as its page shows it. */
interface DisplayedOpenLink {
  readonly id: string
  readonly account_id: string
  readonly slug: string
  readonly title: string
  readonly state: 'active' | 'paused'
  /** The display name of the link's owner. */
  readonly owner: string
  readonly headline: string | null
}

/** The validated contents of the form. */
export interface Asked {
  readonly display_name: string
  /** In lower case. */
  readonly email: string
  readonly message: string | null
}

/** Returns the link with this slug, or null. `slug` may be any text. */
export async function findLink(
  db: Kysely<Schema>,
  slug: string,
): Promise<DisplayedOpenLink | null> {
  if (!is(Slug, slug)) return null
  const row = await db
    .selectFrom('open_links')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select([
      'open_links.id',
      'account_id',
      'slug',
      'title',
      'state',
      'display_name as owner',
      'headline',
    ])
    .where('slug', '=', slug)
    .executeTakeFirst()
  return row ?? null
}

/** Locks a link until the transaction ends. Returns its state; null if it no longer exists. */
async function holdLink(
  trx: Transaction<Schema>,
  id: string,
): Promise<DisplayedOpenLink['state'] | null> {
  const row = await trx
    .updateTable('open_links')
    // This update changes nothing. It locks the row in both database engines.
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
  // Only requests that the owner can answer are counted. Otherwise strangers could block the links
  // for a day with unconfirmed requests.
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
 * @param language the language of the page, for a mailbox without an account
 * @returns `taken` if the request was accepted. Also `taken`, but without a mail, if the mailbox
 *   has reached its limit for this hour or has a pending request at this link. `full` if there are
 *   too many requests. `paused` or `gone` if the link was paused or deleted since the page was
 *   shown.
 */
export async function ask(
  ground: ServiceContext,
  link: DisplayedOpenLink,
  asked: Asked,
  language: Language,
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
    // Sent in the background. Otherwise the response time would reveal whether a mail was sent.
    background.run(async () => {
      const reader = await readerAt(db, email, { ...ANY_READER, language })
      await mail.send(askedMessage({ ...of, reader, publicUrl: server }))
    })
  }
  return became === 'new' || became === 'known' ? 'taken' : became
}

/**
 * Selects the unconfirmed request of a mailed link, with the display name of the open link's owner.
 */
const unconfirmed = (db: Kysely<Schema>, tokenHash: string, at: number) =>
  db
    .selectFrom('open_link_requests as request')
    .innerJoin('accounts', 'accounts.id', 'request.account_id')
    .select([
      'request.id',
      'request.open_link_id',
      'request.account_id',
      'request.display_name',
      'request.email',
      'request.message',
      'accounts.display_name as owner',
    ])
    .where('request.token_hash', '=', tokenHash)
    .where('request.state', '=', 'unconfirmed')
    .where('request.expires_at', '>', at)

/** A request at a confirmation link, as its page shows it. */
export type DisplayedAsk =
  | {
      readonly kind: 'ask'
      readonly owner: string
      readonly name: string
      readonly address: string
      readonly message: string | null
    }
  | { readonly kind: 'sent'; readonly owner: string; readonly address: string }

/**
 * Returns what a mailed link would confirm; null unless it belongs to an unconfirmed request.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 * @param at Unix milliseconds
 */
export async function findAsk(
  db: Kysely<Schema>,
  tokenHash: string,
  at: number,
): Promise<DisplayedAsk | null> {
  const row = await unconfirmed(db, tokenHash, at).executeTakeFirst()
  if (row === undefined) return null
  const { owner, display_name: name, email: address, message } = row
  return { kind: 'ask', owner, name, address, message }
}

/**
 * Deletes an unconfirmed request, so that its link ends. Returns whether there was one.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function rejectAsk({ db }: ServiceContext, tokenHash: string): Promise<boolean> {
  const { numDeletedRows: ended } = await db
    .deleteFrom('open_link_requests')
    .where('token_hash', '=', tokenHash)
    .where('state', '=', 'unconfirmed')
    .executeTakeFirstOrThrow()
  return ended === 1n
}

/**
 * Confirms a request, so that the owner sees it. Returns null as `findAsk` does. The open link may
 * have been paused since the request.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function confirmAsk(
  { events, now }: ServiceContext,
  tokenHash: string,
): Promise<DisplayedAsk | null> {
  const at = now()
  return events.transaction(async (trx) => {
    const found = await unconfirmed(trx, tokenHash, at).executeTakeFirst()
    if (found === undefined) return null
    const { open_link_id: link, account_id: account, email, display_name: name } = found
    await holdLink(trx, link)
    // A new id and time, so that the request is the newest in the owner's list.
    const id = newId(OPEN_LINK_REQUEST_PREFIX, at)
    const { numUpdatedRows: confirmed } = await trx
      .updateTable('open_link_requests')
      .set({ id, state: 'pending', token_hash: null, expires_at: null, created_at: at })
      .where('id', '=', found.id)
      .where('state', '=', 'unconfirmed')
      .executeTakeFirst()
    if (confirmed !== 1n) return null
    markChanged(trx, ['open_link_requests'], { accounts: [account] })
    // Other unconfirmed requests by this mailbox at the same link are deleted.
    await trx
      .deleteFrom('open_link_requests')
      .where('open_link_id', '=', link)
      .where('email', '=', email)
      .where('state', '=', 'unconfirmed')
      .execute()
    await events.publish(trx, {
      type: 'open_link.requested',
      account,
      link,
      request: id,
      name,
      email,
      at,
    })
    return { kind: 'sent', owner: found.owner, address: email }
  })
}
