/**
 * Reads event streams (WHATWG HTML section 9.2) while they arrive, with any content and in chunks
 * of any size.
 */

/** The media type of a streamed answer. */
export const EVENT_STREAM = 'text/event-stream'

/** Returns whether a Content-Type is that of an event stream, with any parameters. */
export const isEventStream = (type: string | undefined): boolean =>
  /^text\/event-stream\s*(;|$)/i.test(type ?? '')

export interface StreamEvent {
  /** Empty if the event has no name. */
  readonly name: string
  readonly data: string
}

/**
 * The longest line and the longest event that are kept, in UTF-16 code units; longer ones are
 * skipped.
 */
const LONGEST = 65_536

/**
 * Returns a function that takes the chunks of a stream and returns the events that each chunk
 * completes.
 */
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
    // A carriage return at the end may be the first half of a line break.
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
