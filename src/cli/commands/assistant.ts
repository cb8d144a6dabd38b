/** The commands for the assistant, and for feedback to the operator. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import * as v from 'valibot'
import { deltaOf, chatFailure } from '../../api/chat-events.ts'
import { newEventReader } from '../../api/event-stream.ts'
import { CONVERSATION_HEADER, TURN_HEADER, feedback } from '../../api/rest/assistant.ts'
import type { Content } from '../../api/route.ts'
import { AppError, CODES, type ErrorCode } from '../../errors.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { optionsOf, textField, valuesOf } from '../option-fields.ts'
import { shownText } from '../table.ts'

const Answered = v.object({
  turn_id: v.string(),
  conversation_id: v.string(),
  answer: v.string(),
  sections: v.array(v.object({ title: v.string(), source: v.string() })),
})

const headerOf = ({ headers = {} }: Content, name: string): string =>
  Object.entries(headers).find(([own]) => own.toLowerCase() === name.toLowerCase())?.[1] ?? ''

/**
 * Yields the text of a streamed answer.
 * @throws AppError if the stream reports an error
 */
async function* textOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const events = newEventReader()
  for await (const bytes of body)
    for (const event of events(bytes)) {
      const failure = chatFailure(event)
      if (failure !== null) {
        const code =
          CODES.find((one) => one === failure.error) ?? ('backend_error' satisfies ErrorCode)
        throw new AppError(code, shownText(failure.message))
      }
      yield deltaOf(event)
    }
}

/**
 * Writes an answer as it arrives and returns the whole answer. With `--json`, only collects it.
 * @throws AppError `backend_error` if the stream ends early
 */
async function written({ io, json }: Invocation, body: AsyncIterable<Uint8Array>): Promise<string> {
  let answer = ''
  try {
    for await (const text of textOf(body)) {
      answer += text
      if (!json) io.stdout.write(shownText(text))
    }
    return answer
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('backend_error', 'The answer was interrupted. Ask again.', { cause })
  } finally {
    if (!json && answer !== '' && !answer.endsWith('\n')) io.stdout.write('\n')
  }
}

async function show(call: Invocation, content: Content): Promise<void> {
  const { print, say } = call
  const { body } = content
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const whole: unknown = JSON.parse(Buffer.from(body).toString())
    const { answer, sections, conversation_id } = v.parse(Answered, whole)
    print(whole, shownText(answer))
    const sources = [...new Set(sections.map(({ source }) => source))]
    if (sources.length > 0) say(`From: ${shownText(sources.join(', '))}.`)
    goOn(call, conversation_id)
    return
  }
  const ids = {
    turn_id: headerOf(content, TURN_HEADER),
    conversation_id: headerOf(content, CONVERSATION_HEADER),
  }
  const answer = await written(call, body)
  print({ ...ids, answer }, [])
  goOn(call, ids.conversation_id)
}

const goOn = ({ say }: Invocation, conversation: string) =>
  say(`To continue: countersignd ask --conversation ${shownText(conversation)} "…"`)

const FIELDS = { conversation_id: textField('conversation') }

export const askCommand: Command = {
  usage: 'QUESTION [--conversation ID] [--json]',
  help: `
Asks the assistant of the account server, and prints the answer as it arrives. If the server has no assistant, the
command prints matching sections of the handbook, and a line that names the handbook as the source.

The assistant sends the question to the provider that the operator of the server chose. The question must not contain
tokens, keys or the words that you say on calls.

  --conversation ID   continue an earlier conversation. Each answer shows the id of its conversation`,
  options: optionsOf(FIELDS),
  args: [1, 1],
  async run(call) {
    const { args, options, withApi } = call
    const [message = ''] = args
    const body = { message, ...valuesOf(FIELDS, options) }
    await withApi(async (api) => show(call, await api.chat.turn({ body })))
  },
}

const CATEGORIES = feedback.send.body.entries.category.wrapped.wrapped.options

export const feedbackCommand: Command = {
  usage: 'TEXT|- [--category CATEGORY] [--json]',
  help: `
Sends feedback to the operator of the account server, with the e-mail address of your account. If TEXT is "-", the
text is read from standard input. The feedback must not contain tokens, keys or the words that you say on calls.

  --category CATEGORY   the category, one of: ${CATEGORIES.join(', ')}`,
  options: { category: { type: 'string' } },
  args: [1, 1],
  async run({ args: [given = ''], options, io, withApi, print, say }) {
    const category = CATEGORIES.find((one) => one === options['category'])
    if (options['category'] !== undefined && category === undefined)
      throw new UsageError(`--category must be one of: ${CATEGORIES.join(', ')}.`)
    const message = (given === '-' ? await text(Readable.from(io.stdin)) : given).trim()
    if (message === '') throw new UsageError('The feedback is empty. Write a text.')
    const body = { message, ...(category === undefined ? {} : { category }) }
    const sent = await withApi((api) => api.feedback.send({ body }))
    print(sent, [])
    say(
      sent.mailed
        ? 'Sent. Thank you.'
        : 'Stored, but not sent: this account server sends no mail. If your account is on this machine only, nobody else can read it.',
    )
  },
}
