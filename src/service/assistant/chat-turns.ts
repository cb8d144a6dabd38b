/** What was asked of the assistant and answered, by account. A conversation is no more than the turns that name it. */
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import { notFound } from '../db/faults.ts'
import type { Ground } from '../context.ts'
import type { Message } from './assistant.ts'
import { lockAccount } from '../db/locks.ts'
import { keepNewest } from '../db/newest.ts'
import type { Schema } from '../db/schema.ts'

const PREFIX = 'trn_'
const CONVERSATION = 'cnv_'

/** So many turns are kept of an account, the newest. */
const MOST = 1000
/** As many turns of a conversation as its next one is asked with, and as many characters of them. */
const EARLIER = 10
const EARLIER_LENGTH = 24_000
/** As much of an answer is kept, in characters. */
export const LONGEST_ANSWER = 65_536

type Db = Kysely<Schema>

/** A new conversation, or one of the account's. Throws AppError `not_found` for any other. */
export async function conversationOf(
  { db, now }: Pick<Ground, 'db' | 'now'>,
  account: string,
  id: string | null | undefined,
): Promise<string> {
  if (id == null) return newId(CONVERSATION, now())
  const turn = await db
    .selectFrom('chat_turns')
    .select('id')
    .where('account_id', '=', account)
    .where('conversation_id', '=', id)
    .limit(1)
    .executeTakeFirst()
  if (turn === undefined) throw notFound('conversation')
  return id
}

/** What was said before in a conversation, as the assistant is told it: the newest turns that were answered, in order. */
export async function earlierIn(db: Db, account: string, conversation: string): Promise<Message[]> {
  const turns = await db
    .selectFrom('chat_turns')
    .select(['message', 'answer'])
    .where('account_id', '=', account)
    .where('conversation_id', '=', conversation)
    .where('answer', 'is not', null)
    .orderBy('id', 'desc')
    .limit(EARLIER)
    .execute()
  const messages: Message[] = []
  let length = 0
  for (const { message, answer } of turns) {
    length += message.length + (answer as string).length
    if (length > EARLIER_LENGTH) break
    messages.unshift(
      { role: 'user', content: message },
      { role: 'assistant', content: answer as string },
    )
  }
  return messages
}

/**
 * Keep a turn, and of the account no more than the newest. Throws AppError `not_found` for an account that was deleted while the assistant
 * thought.
 */
export const keepTurn = (
  { db, now }: Pick<Ground, 'db' | 'now'>,
  turn: { account: string; conversation: string; message: string; answer: string | null },
): Promise<string> =>
  db.transaction().execute(async (trx) => {
    const { account, conversation, message, answer } = turn
    await lockAccount(trx, account)
    const own = trx.selectFrom('accounts').select('id').where('id', '=', account)
    if ((await own.executeTakeFirst()) === undefined) throw notFound('account')
    const at = now()
    const id = newId(PREFIX, at)
    const of = { id, account_id: account, conversation_id: conversation, created_at: at }
    await trx
      .insertInto('chat_turns')
      .values({ ...of, message, answer, rating: null, comment: null })
      .execute()
    await keepNewest(trx, 'chat_turns', account, MOST)
    return id
  })

/** Keep the answer to a turn, as far as it came; what a database takes for no text is left out. */
export async function keepAnswer(db: Db, id: string, answer: string): Promise<void> {
  const text = answer.slice(0, LONGEST_ANSWER).replaceAll('\0', '').toWellFormed()
  if (text !== '')
    await db.updateTable('chat_turns').set({ answer: text }).where('id', '=', id).execute()
}

/** What the account thinks of an answer, in place of what it thought before. Throws AppError `not_found`. */
export async function keepRating(
  db: Db,
  account: string,
  id: string,
  rated: { rating: 'up' | 'down'; comment: string | null },
): Promise<void> {
  const { numUpdatedRows: kept } = await db
    .updateTable('chat_turns')
    .set(rated)
    .where('id', '=', id)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (kept === 0n) throw notFound('turn')
}
