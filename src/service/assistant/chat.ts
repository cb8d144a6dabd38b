/**
 * Relays questions to the assistant that the operator configured, and streams its answers. If no
 * assistant is configured, the answer comes from the handbook and says so. Feedback is mailed to
 * the operator.
 */
import { deltaOf, outcomeOf } from '../../api/chat-events.ts'
import { EVENT_STREAM, newEventReader } from '../../api/event-stream.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { CONVERSATION_HEADER, TURN_HEADER } from '../../api/rest/assistant.ts'
import type { Content } from '../../api/route.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { primaryAddress } from '../accounts/account-record.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTry, countTryIn } from '../db/attempts.ts'
import { keepNewest } from '../db/collections.ts'
import { feedbackMessage } from '../mail/messages-from-others.ts'
import { type Assistant, type ChatMessage, newAssistant } from './assistant.ts'
import {
  conversationOf,
  earlierIn,
  keepAnswer,
  keepRating,
  keepTurn,
  LONGEST_ANSWER,
} from './chat-turns.ts'
import { type Handbook, handbook, type Section } from './handbook.ts'

const TURNS: Brake = {
  what: 'chat',
  most: 120,
  periodMs: 3_600_000,
  message: 'Too many questions were asked. The limit is 120 an hour.',
}

/**
 * The maximum number of concurrent answers for an account. It is limited because each answer
 * occupies connections.
 */
const AT_ONCE = 5

/** How many handbook sections are sent with a question, or are used to answer it. */
const SECTIONS = 4

const RULES = `You are the assistant of Countersign, with which people prove on a call who they are by three
spoken words, and sign files with stamps. Help with its use, briefly, in the language of the question.
Rely on the sections of its handbook below; if the answer is not in them, admit that you do not know.
You see nothing of the person's account and do nothing in it. Never ask for words, codes, tokens,
keys or links.`

const written = ({ title, source, text }: Section) => `${title} (${source})\n\n${text}`

const systemMessage = (sections: readonly Section[]): ChatMessage => ({
  role: 'system',
  content: [RULES, ...sections.map((section) => `# ${written(section)}`)].join('\n\n'),
})

/** Returns the answer to a question from the best matching handbook sections. */
function handbookAnswer({ contents }: Handbook, [best, ...others]: readonly Section[]): string {
  const from =
    'No assistant is configured on this account server, so this answer comes from the handbook'
  if (best === undefined)
    return `${from}, but nothing in it matches the question. Its subjects are:\n\n${contents.map((line) => `- ${line}`).join('\n')}`
  const more = [...new Set(others.map(({ title }) => title))].filter((one) => one !== best.title)
  const also = more.length === 0 ? '' : `\n\nMore sections of it: ${more.join('; ')}.`
  return `${from}.\n\n${written(best)}${also}`
}

const headersOf = (conversation: string, turn: string) => ({
  [CONVERSATION_HEADER]: conversation,
  [TURN_HEADER]: turn,
})

interface Question {
  readonly account: string
  readonly conversation: string
  readonly message: string
}

async function fromHandbook(ground: ServiceContext, question: Question): Promise<Content> {
  const book = handbook()
  const sections = book.find(question.message, SECTIONS)
  const answer = handbookAnswer(book, sections)
  const turn = await keepTurn(ground, { ...question, answer })
  const ids = { turn_id: turn, conversation_id: question.conversation }
  return {
    type: 'application/json',
    body: JSON.stringify({ ...ids, assistant: 'handbook', answer, sections }),
    headers: headersOf(question.conversation, turn),
  }
}

/**
 * Collects the text of an answer from the relayed bytes, and detects whether the answer is
 * complete.
 */
function newListener() {
  const events = newEventReader()
  let text = ''
  let outcome: ReturnType<typeof outcomeOf> = null
  return {
    onChunk: (bytes: Uint8Array): void => {
      for (const event of events(bytes)) {
        if (text.length < LONGEST_ANSWER) text += deltaOf(event)
        if (outcome !== 'failed') outcome = outcomeOf(event) ?? outcome
      }
    },
    whole: () => outcome === 'whole',
    text: () => text,
  }
}

async function fromAssistant(
  ground: ServiceContext,
  assistant: Assistant,
  question: Question,
  ended: () => void,
): Promise<Content> {
  const { db, background } = ground
  const { account, conversation, message } = question
  const { onChunk, whole, text } = newListener()
  /** Resolves with the id of the stored turn; null if the turn will not be stored. */
  const stored = Promise.withResolvers<string | null>()
  const keep = () => {
    ended()
    return new Promise<void>((resolve) => {
      background.run(async () => {
        try {
          const turn = await stored.promise
          if (turn !== null) await keepAnswer(db, turn, text())
        } finally {
          resolve()
        }
      })
    })
  }
  const messages = [
    systemMessage(handbook().find(message, SECTIONS)),
    ...(await earlierIn(db, account, conversation)),
    { role: 'user' as const, content: message },
  ]
  let cut = () => undefined as void
  try {
    const passage = await assistant.ask(messages, { onChunk, whole, ended: keep })
    cut = passage.cut
    const turn = await keepTurn(ground, { ...question, answer: null })
    stored.resolve(turn)
    return {
      type: EVENT_STREAM,
      body: passage.body,
      // Prevents nginx from buffering the stream.
      headers: { ...headersOf(conversation, turn), 'X-Accel-Buffering': 'no' },
    }
  } catch (error) {
    stored.resolve(null)
    cut()
    throw error
  }
}

/**
 * Limits concurrent answers by account. The returned function begins an answer, and returns a
 * function that ends it. It throws AppError `rate_limited` if too many are in progress.
 */
function newTurnstile() {
  const running = new Map<string, number>()
  return (account: string): (() => void) => {
    const count = running.get(account) ?? 0
    if (count >= AT_ONCE)
      throw new AppError(
        'rate_limited',
        `${AT_ONCE} answers are in progress. Wait until one has ended.`,
        { headers: { 'Retry-After': '5' } },
      )
    running.set(account, count + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = (running.get(account) as number) - 1
      if (left === 0) running.delete(account)
      else running.set(account, left)
    }
  }
}

export function chat(ground: ServiceContext): Service['chat'] {
  const assistant = ground.assistant === null ? null : newAssistant(ground.assistant)
  const enter = newTurnstile()
  return {
    async turn({ body: { message, conversation_id } }, { account }) {
      const conversation = await conversationOf(ground, account, conversation_id)
      const question = { account, conversation, message }
      if (assistant === null) {
        await countTry(ground, account, TURNS)
        return fromHandbook(ground, question)
      }
      const leave = enter(account)
      try {
        await countTry(ground, account, TURNS)
        return await fromAssistant(ground, assistant, question, leave)
      } catch (error) {
        leave()
        throw error
      }
    },

    async rate({ body: { turn_id, rating, comment = null } }, { account }) {
      await keepRating(ground.db, account, turn_id, { rating, comment })
      return { turn_id, rating, comment }
    },
  }
}

const SENT: Brake = {
  what: 'feedback',
  most: 20,
  periodMs: 3_600_000,
  message: 'Thank you for your feedback. The limit for one hour is reached.',
}

/** How many feedback messages are kept for each account. Older ones are deleted. */
const MOST = 500

/** Feedback from users. It is stored, and mailed to the operator. */
export const feedback = (ground: ServiceContext): Service['feedback'] => ({
  async send({ body: { message, category = null } }, { account }) {
    const { db, mail, background, operator: to, publicUrl, version, now } = ground
    const at = now()
    const id = newId('fdb_', at)
    const from = await db.transaction().execute(async (trx) => {
      await countTryIn(trx, account, SENT, at)
      const row = { id, account_id: account, message, category, created_at: at }
      await trx.insertInto('feedback').values(row).execute()
      await keepNewest(trx, 'feedback', account, MOST)
      return primaryAddress(trx, account)
    })
    const letter = { to, from, account, message, category, version, publicUrl: publicUrl() }
    background.run(() => mail.send(feedbackMessage(letter)))
    return { id, message, category, mailed: mail.isRelayed, created_at: timeAt(at) }
  },
})
