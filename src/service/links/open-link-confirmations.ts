/**
 * Confirms a request at an open link by its mailed link. From then on the owner sees it, and is
 * notified.
 */
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import type { Said } from '../accounts/email-claims.ts'
import type { ServiceContext } from '../context.ts'
import { holdLink } from './open-link-asks.ts'
import { OPEN_LINK_REQUEST_PREFIX } from './open-link-requests.ts'
import type { Schema } from '../db/schema.ts'

/** Selects the unconfirmed request of a mailed link, with its owner's name. */
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

/**
 * Isolates the writing direction of a name in a sentence, by Unicode's first strong isolate.
 * Names contain no isolates themselves.
 */
const isolated = (name: string) => `\u2068${name}\u2069`

/** Marks each line, so that the message cannot pass for text of the page. */
const marked = (message: string) =>
  message
    .split('\n')
    .map((line) => `> ${isolated(line)}`)
    .join('\n')

/**
 * Returns what a link would confirm; null unless it belongs to an unconfirmed request.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 * @param at Unix milliseconds
 */
export async function findAsk(
  db: Kysely<Schema>,
  tokenHash: string,
  at: number,
): Promise<Said | null> {
  const row = await unconfirmed(db, tokenHash, at).executeTakeFirst()
  if (row === undefined) return null
  const [owner, name] = [row.owner, row.display_name].map(isolated)
  return {
    title: 'Ask to connect?',
    text:
      `${owner} will be asked to connect with ${name} at ${row.email}. People choose these names themselves: anyone can write any name.\n\n` +
      (row.message === null ? '' : `Their message:\n${marked(row.message)}\n\n`) +
      'If this was not you, close this page: nothing happens then.',
  }
}

/**
 * Confirms a request, which its owner sees from then on. Returns null as `findAsk` does. Also
 * valid for a link that was paused in the meantime.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function confirmAsk(
  { events, now }: ServiceContext,
  tokenHash: string,
): Promise<Said | null> {
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
    // After two requests with two mails, only the confirmed one stays.
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
    return {
      title: 'You have asked to connect',
      text:
        `${isolated(found.owner)} sees your request now, with your name, your message and ${email}. ` +
        'If it is approved, an invitation comes to this mailbox. You may close this page.',
    }
  })
}
