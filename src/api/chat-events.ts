/**
 * The events of an assistant's answer: parts of a chat completion, and the error that ends the
 * stream.
 */
import * as v from 'valibot'
import type { AppError } from '../errors.ts'
import type { StreamEvent } from './event-stream.ts'

const Chunk = v.object({
  choices: v.looseTuple([v.object({ delta: v.object({ content: v.string() }) })]),
})
const Last = v.object({ choices: v.looseTuple([v.object({ finish_reason: v.string() })]) })
const Fault = v.object({ error: v.union([v.string(), v.looseObject({})]) })
const Failure = v.object({ error: v.string(), message: v.string() })

/** Returns the value of a JSON text that has the form of a schema; null for any other text. */
function valueOf<const T extends v.GenericSchema>(
  schema: T,
  text: string,
): v.InferOutput<T> | null {
  if (!text.startsWith('{')) return null
  try {
    const parsed = v.safeParse(schema, JSON.parse(text))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

/**
 * Returns the text that an event of a chat completion adds to the answer; empty for other events.
 */
export const deltaOf = ({ data }: StreamEvent): string =>
  valueOf(Chunk, data)?.choices[0].delta.content ?? ''

/** Returns whether an event marks its answer as complete or as failed; null for neither. */
export function outcomeOf({ data }: StreamEvent): 'whole' | 'failed' | null {
  if (valueOf(Fault, data) !== null) return 'failed'
  return data.trim() === '[DONE]' || valueOf(Last, data) !== null ? 'whole' : null
}

/**
 * Returns the error that ended a stream early, as `errorEvent` writes it; null for every other
 * event.
 */
export const chatFailure = ({ name, data }: StreamEvent): v.InferOutput<typeof Failure> | null =>
  name === 'error' ? valueOf(Failure, data) : null

/**
 * Returns the event that ends a stream early, even if the stream broke off in the middle of a
 * line.
 */
export const errorEvent = ({ code, message }: AppError): Uint8Array =>
  new TextEncoder().encode(
    `\n\nevent: error\ndata: ${JSON.stringify({ error: code, message })}\n\n`,
  )
