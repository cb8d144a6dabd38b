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

/** The longest event that is kept, in UTF-16 code units of its lines; a longer one is skipped. */
const LONGEST = 65_536

/**
 * Returns a function that takes the chunks of a stream and returns the events that each chunk
 * completes.
 */
export function newEventReader(): (bytes: Uint8Array) => StreamEvent[] {
  const decoder = new TextDecoder()
  /** The start of a line whose end has not arrived. */
  let rest = ''
  /** Whether a line feed at the start of the next chunk ends no line: it completes a CR LF. */
  let isAfterReturn = false
  let name = ''
  let data: string[] = []
  let length = 0

  /** Returns the lines that a chunk completes. */
  function linesIn(text: string): string[] {
    const lines = (isAfterReturn ? text.replace(/^\n/, '') : text).split(/\r\n|\n|\r/)
    if (text !== '') isAfterReturn = text.endsWith('\r')
    // A line above the limit stays above it, so that its event is skipped, and grows no more.
    lines[0] = rest.length > LONGEST ? rest : rest + (lines[0] as string)
    rest = lines.pop() as string
    return lines
  }

  function take(line: string): void {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray
    length += line.length
    if (length > LONGEST) data = []
    else if (field === 'data') data.push(value)
    else if (field === 'event') name = value
  }

  return (bytes) =>
    linesIn(decoder.decode(bytes, { stream: true })).flatMap((line) => {
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
