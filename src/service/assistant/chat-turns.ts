/**
 * The questions to the assistant and their answers, by account. A conversation consists only of
 * the turns that name it.
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

/** How many turns are kept of an account, the newest. */
const MOST = 1000
/**
 * How many previous turns of a conversation are sent with a question, and how many characters of
 * them.
 */
const EARLIER = 10
const EARLIER_LENGTH = 24_000
/** How many characters of an answer are kept. */
export const LONGEST_ANSWER = 65_536

type Db = Kysely<Schema>

/**
 * Returns the id of a new conversation, or of an existing one of the account. Throws AppError
 * `not_found` for any other.
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
 * Returns the previous messages of a conversation for the assistant, in order. These are the
 * newest turns with an answer.
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
 * Stores a turn, and deletes the account's oldest ones. Throws AppError `not_found` if the
 * account was deleted while the assistant prepared the answer.
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
 * Stores the account's rating of an answer in place of a previous one. Throws AppError
 * `not_found`.
 */
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
