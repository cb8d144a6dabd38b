/**
 * Collects streamed answers into texts of limited length.
 *
 * A model reads only complete answers.
 */
import { deltaOf, chatFailure } from '../chat-events.ts'
import { newEventReader } from '../event-stream.ts'
import { CONVERSATION_HEADER, TURN_HEADER } from '../rest/assistant.ts'
import type { Content } from '../route.ts'
import { AppError, CODES, type ErrorCode } from '../../errors.ts'

/** The maximum size of a tool's answer: in bytes, or in UTF-16 code units for a text. */
const LARGEST = 1024 * 1024

const tooLarge = () =>
  new AppError(
    'payload_too_large',
    `The answer is larger than ${LARGEST} bytes, the limit for tools. Use the route of this tool over HTTP instead.`,
  )

/** Yields the chunks of a body, which can also be a single text or buffer. */
async function* bitsOf(body: Content['body']): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield Buffer.from(body)
  else if (body instanceof Uint8Array) yield body
  else yield* body
}

/**
 * Returns the bytes of a body.
 * @throws AppError `payload_too_large`
 */
export async function streamedBytes(body: Content['body']): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of bitsOf(body)) {
    size += chunk.length
    if (size > LARGEST) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const headerOf = ({ headers = {} }: Content, name: string): string | undefined =>
  Object.entries(headers).find(([own]) => own.toLowerCase() === name.toLowerCase())?.[1]

/**
 * Returns the assistant's answer, assembled from its events.
 * @throws AppError if the answer breaks off, or `payload_too_large`
 */
export async function answerOf(content: Content): Promise<Record<string, unknown>> {
  const events = newEventReader()
  let answer = ''
  for await (const bits of bitsOf(content.body))
    for (const event of events(bits)) {
      const failure = chatFailure(event)
      if (failure !== null) {
        const code =
          CODES.find((one) => one === failure.error) ?? ('backend_error' satisfies ErrorCode)
        throw new AppError(code, failure.message)
      }
      answer += deltaOf(event)
      if (answer.length > LARGEST) throw tooLarge()
    }
  return {
    turn_id: headerOf(content, TURN_HEADER),
    conversation_id: headerOf(content, CONVERSATION_HEADER),
    answer,
  }
}
