/** What the events of an answer of the assistant say: chat completions bit by bit, and why nothing follows. */
import * as v from 'valibot'
import type { AppError } from '../errors.ts'
import type { StreamEvent } from './event-stream.ts'

const Chunk = v.object({
  choices: v.looseTuple([v.object({ delta: v.object({ content: v.string() }) })]),
})
const Last = v.object({ choices: v.looseTuple([v.object({ finish_reason: v.string() })]) })
const Fault = v.object({ error: v.union([v.string(), v.looseObject({})]) })
const Failure = v.object({ error: v.string(), message: v.string() })

/** The value of a text that is JSON and has the form of a schema; null for any other. */
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

/** The text that an event of a chat completion adds to the answer; empty for all others. */
export const deltaOf = ({ data }: StreamEvent): string =>
  valueOf(Chunk, data)?.choices[0].delta.content ?? ''

/** What an event says of the answer that it is part of: that it is whole, or that it fails; null for neither. */
export function outcomeOf({ data }: StreamEvent): 'whole' | 'failed' | null {
  if (valueOf(Fault, data) !== null) return 'failed'
  return data.trim() === '[DONE]' || valueOf(Last, data) !== null ? 'whole' : null
}

/** What ended a stream before its time, as `errorEvent` says it; null for every other event. */
export const failureOf = ({ name, data }: StreamEvent): v.InferOutput<typeof Failure> | null =>
  name === 'error' ? valueOf(Failure, data) : null

/** The event that ends a stream before its time, also where that broke off in the middle of a line. */
export const errorEvent = ({ code, message }: AppError): Uint8Array =>
  new TextEncoder().encode(
    `\n\nevent: error\ndata: ${JSON.stringify({ error: code, message })}\n\n`,
  )
