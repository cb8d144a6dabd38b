/** Reads the events of an assistant's answer: parts of a chat completion, or the final error. */
import * as v from 'valibot'
import type { AppError } from '../errors.ts'
import type { StreamEvent } from './event-stream.ts'

const Chunk = v.object({
  choices: v.looseTuple([v.object({ delta: v.object({ content: v.string() }) })]),
})
const Last = v.object({ choices: v.looseTuple([v.object({ finish_reason: v.string() })]) })
const Fault = v.object({ error: v.union([v.string(), v.looseObject({})]) })
const Failure = v.object({ error: v.string(), message: v.string() })

/** Returns the value of a JSON text if it matches a schema; null for any other text. */
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

/** Returns the text that a chat completion event adds to the answer; empty for other events. */
export const deltaOf = ({ data }: StreamEvent): string =>
  valueOf(Chunk, data)?.choices[0].delta.content ?? ''

/** Returns whether an event marks the answer as complete or as failed; null for other events. */
export function outcomeOf({ data }: StreamEvent): 'whole' | 'failed' | null {
  if (valueOf(Fault, data) !== null) return 'failed'
  return data.trim() === '[DONE]' || valueOf(Last, data) !== null ? 'whole' : null
}

/** Returns the error in an event that `errorEvent` wrote; null for every other event. */
export const chatFailure = ({ name, data }: StreamEvent): v.InferOutput<typeof Failure> | null =>
  name === 'error' ? valueOf(Failure, data) : null

/**
 * Returns an event that ends a stream early with an error.
 *
 * It begins with line breaks, so it is valid even if the stream broke off in the middle of a line.
 */
export const errorEvent = ({ code, message }: AppError): Uint8Array =>
  new TextEncoder().encode(
    `\n\nevent: error\ndata: ${JSON.stringify({ error: code, message })}\n\n`,
  )
