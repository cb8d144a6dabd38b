/** Reads an event stream (WHATWG HTML section 9.2) while it arrives, in chunks of any size. */

/** The media type of a streamed answer. */
export const EVENT_STREAM = 'text/event-stream'

/** Whether a Content-Type is an event stream, with or without parameters. */
export const isEventStream = (type: string | undefined): boolean =>
  /^text\/event-stream\s*(;|$)/i.test(type ?? '')

/** A comment, which clients ignore. It shows whether a connection still works. */
export const EVENT_COMMENT = ':\n\n'

/**
 * Returns an event as the text of a stream.
 * @param id the place after the event, with which a client continues
 */
export const eventText = (name: string, data: object, id?: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

export interface StreamEvent {
  /** The name of the event; empty if it has none. */
  readonly name: string
  readonly data: string
}

/** The maximum length of an event's lines, in UTF-16 code units. Longer events are skipped. */
const LONGEST = 65_536

/** Returns a function that accepts the next chunk of a stream and returns the completed events. */
export function newEventReader(): (bytes: Uint8Array) => StreamEvent[] {
  const decoder = new TextDecoder()
  /** The beginning of a line that is not yet complete. */
  let rest = ''
  /**
   * Whether the last chunk ended with CR. A line feed at the start of the next chunk then belongs
   * to that CR.
   */
  let isAfterReturn = false
  let name = ''
  let data: string[] = []
  let length = 0

  /** Returns the lines that end in a chunk. */
  function linesIn(text: string): string[] {
    const lines = (isAfterReturn ? text.replace(/^\n/, '') : text).split(/\r\n|\n|\r/)
    if (text !== '') isAfterReturn = text.endsWith('\r')
    // A line longer than the limit is not extended, which saves memory. It stays over the limit, so
    // its event is skipped.
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
