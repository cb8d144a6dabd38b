/**
 * Event streams (WHATWG HTML section 9.2), as far as an answer of the assistant is one: read as they come, whatever comes, and
 * ended so that a reader understands why.
 */
import * as v from 'valibot'
import type { AppError } from '../errors.ts'

/** The type of an answer that comes bit by bit. */
export const EVENT_STREAM = 'text/event-stream'

/** Whether a Content-Type says so, whatever its parameters. */
export const isEventStream = (type: string | undefined): boolean =>
  /^text\/event-stream\s*(;|$)/i.test(type ?? '')

export interface StreamEvent {
  /** Empty where it was given no name. */
  readonly name: string
  readonly data: string
}

/** The longest line and the longest event that are kept, in UTF-16 code units; what is longer is passed over. */
const LONGEST = 65_536

/** Takes a stream bit by bit; gives back the events that each bit completes. */
export function newEventReader(): (bytes: Uint8Array) => StreamEvent[] {
  const decoder = new TextDecoder()
  let rest = ''
  let name = ''
  let data: string[] = []
  let length = 0

  function take(line: string): void {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray
    length += line.length
    if (length > LONGEST) data = []
    else if (field === 'data') data.push(value)
    else if (field === 'event') name = value
  }

  return (bytes) => {
    rest += decoder.decode(bytes, { stream: true })
    // A carriage return at the end may be the first half of a line's end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() as string
    if (rest.length > LONGEST) rest = ''
    return lines.flatMap((line) => {
      if (line !== '') {
        take(line)
        return []
      }
      const event = { name, data: data.join('\n') }
      const isOne = data.length > 0
      ;[name, data, length] = ['', [], 0]
      return isOne ? [event] : []
    })
  }
}

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
