/** Confirming a request of an open link by the link that was mailed: from then on the owner sees it, and is told. */
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import type { Said } from '../accounts/email-claims.ts'
import type { Ground } from '../context.ts'
import { holdLink } from './open-link-asks.ts'
import { PREFIX } from './open-link-requests.ts'
import type { Schema } from '../db/schema.ts'

/** The unconfirmed request of a mailed link, with its owner's name. */
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

/** A name inside of a sentence, whatever direction it is written in: Unicode's first strong isolate. No name here has one of its own. */
const isolated = (name: string) => `\u2068${name}\u2069`

/** Every line marked, so that nobody takes it for words of the page. */
const marked = (message: string) =>
  message
    .split('\n')
    .map((line) => `> ${isolated(line)}`)
    .join('\n')

/**
 * What following a link will confirm; null when it is no link of a request, or none that waits.
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
      `${owner} will be asked to connect with ${name} at ${row.email}. The names are what people call themselves: anybody can write any name.\n\n` +
      (row.message === null ? '' : `The message says:\n${marked(row.message)}\n\n`) +
      'If this was not you, close this page: nothing happens then.',
  }
}

/**
 * Confirm a request: from then on its owner sees it. Null as in `findAsk`; for a link that was paused meanwhile it still counts.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function confirmAsk({ events, now }: Ground, tokenHash: string): Promise<Said | null> {
  const at = now()
  return events.transaction(async (trx) => {
    const found = await unconfirmed(trx, tokenHash, at).executeTakeFirst()
    if (found === undefined) return null
    const { open_link_id: link, account_id: account, email, display_name: name } = found
    await holdLink(trx, link)
    // To its owner it begins now, so that it is the newest in the list.
    const id = newId(PREFIX, at)
    const { numUpdatedRows: confirmed } = await trx
      .updateTable('open_link_requests')
      .set({ id, state: 'pending', token_hash: null, expires_at: null, created_at: at })
      .where('id', '=', found.id)
      .where('state', '=', 'unconfirmed')
      .executeTakeFirst()
    if (confirmed !== 1n) return null
    // Whoever asked twice had two mails, and waits once.
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
