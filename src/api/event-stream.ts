/** Event streams (WHATWG HTML section 9.2), read as they come, whatever comes. */

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
