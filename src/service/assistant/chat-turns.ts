/**
 * Turns: questions to the assistant with their answers, stored by account. A conversation has no
 * row of its own; it consists of the turns with its id.
 */
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import { notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import type { ChatMessage } from './assistant.ts'
import { lockAccount } from '../db/locks.ts'
import { keepNewest } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'

const PREFIX = 'trn_'
const CONVERSATION = 'cnv_'

/** How many turns are kept for each account. Older turns are deleted. */
const MOST = 1000
/**
 * How many previous turns are sent with a question, and their maximum total length in characters.
 */
const EARLIER = 10
const EARLIER_LENGTH = 24_000
/** How many characters of an answer are stored. */
export const LONGEST_ANSWER = 65_536

type Db = Kysely<Schema>

/**
 * Returns the id of a new conversation, or `id` if the account has that conversation. Throws
 * AppError `not_found` if it does not.
 */
export async function conversationOf(
  { db, now }: Pick<ServiceContext, 'db' | 'now'>,
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

/**
 * Returns the previous messages of a conversation for the assistant, in order. They come from the
 * newest turns that have an answer.
 */
export async function earlierIn(
  db: Db,
  account: string,
  conversation: string,
): Promise<ChatMessage[]> {
  const turns = await db
    .selectFrom('chat_turns')
    .select(['message', 'answer'])
    .where('account_id', '=', account)
    .where('conversation_id', '=', conversation)
    .where('answer', 'is not', null)
    .orderBy('id', 'desc')
    .limit(EARLIER)
    .execute()
  const messages: ChatMessage[] = []
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
 * Stores a turn, and deletes the account's oldest turns. Throws AppError `not_found` if the account
 * was deleted while the assistant prepared the answer.
 */
export const keepTurn = (
  { db, now }: Pick<ServiceContext, 'db' | 'now'>,
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

/** Stores the received part of an answer, without characters that a database rejects in text. */
export async function keepAnswer(db: Db, id: string, answer: string): Promise<void> {
  const text = answer.slice(0, LONGEST_ANSWER).replaceAll('\0', '').toWellFormed()
  if (text !== '')
    await db.updateTable('chat_turns').set({ answer: text }).where('id', '=', id).execute()
}

/**
 * Stores the account's rating of an answer, in place of an earlier rating. Throws AppError
 * `not_found`.
 */
export async function keepRating(
  db: Db,
  account: string,
  id: string,
  rated: { rating: 'up' | 'down'; comment: string | null },
): Promise<void> {
  const { numUpdatedRows: updated } = await db
    .updateTable('chat_turns')
    .set(rated)
    .where('id', '=', id)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (updated === 0n) throw notFound('turn')
}
