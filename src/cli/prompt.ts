/**
 * Asks the user questions and reads the answers line by line.
 * Answers come from the terminal, or from standard input in a script. A question goes to standard
 * error, and only if there is a terminal.
 */
import { StringDecoder } from 'node:string_decoder'
import type { Io } from './command.ts'

export interface Prompt {
  readonly isTerminal: boolean
  /** Returns the next line without surrounding space; null at the end of the input. */
  ask(question: string): Promise<string | null>
  /** As `ask`, for a secret: the terminal does not echo it. Ctrl-C returns null. */
  askUnseen(question: string): Promise<string | null>
  /** Releases standard input. */
  close(): Promise<void>
}

type Terminal = Io['stdin'] & { setRawMode(raw: boolean): unknown }

/** Returns whether standard input is a terminal that can switch off its echo. */
export const canHide = (stdin: Io['stdin']): stdin is Terminal =>
  stdin.isTTY === true && typeof (stdin as { setRawMode?: unknown }).setRawMode === 'function'

/** Yields standard input in chunks. */
async function* textOf(stdin: Io['stdin']): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  for await (const chunk of stdin)
    yield typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer)
  yield decoder.end()
}

/**
 * Characters that a terminal in raw mode sends for the keys that submit, cancel or edit a line.
 */
const ENTER = '\r\n'
const GIVE_UP = '\u0003\u0004'
const BACK = '\b\u007f'
const CLEAR = '\u0015'
/** Matches the sequence of an arrow or function key. */
const SEQUENCE = new RegExp(String.raw`\x1b(?:[[O][\d;]*[A-Za-z~])?`, 'g')
const isControl = (key: string) => key < ' '

/**
 * Adds typed text to a line in raw mode.
 * @returns `line`: the line, or null if cancelled; `rest`: the text after it, or null if
 *   unfinished
 */
function typedInto(line: string, text: string): { line: string | null; rest: string | null } {
  const keys = Array.from(text.replaceAll(SEQUENCE, ''))
  const typed = Array.from(line)
  for (const [at, key] of keys.entries()) {
    if (ENTER.includes(key)) return { line: typed.join(''), rest: keys.slice(at + 1).join('') }
    if (GIVE_UP.includes(key)) return { line: null, rest: '' }
    if (BACK.includes(key)) typed.pop()
    else if (key === CLEAR) typed.length = 0
    else if (!isControl(key)) typed.push(key)
  }
  return { line: typed.join(''), rest: null }
}

/** Opens a prompt. It reads standard input only from the first question on. */
export function openPrompt({ stdin, stderr }: Io): Prompt {
  const isTerminal = stdin.isTTY === true
  let source: AsyncGenerator<string, void> | null = null
  /** Input that belongs to no line yet. */
  let rest = ''

  /** Reads another chunk. Returns whether there was one. */
  async function more(): Promise<boolean> {
    source ??= textOf(stdin)
    const { value, done } = await source.next()
    if (!done) rest += value
    return !done
  }

  /** Returns the next line. The last line need not end in a line feed. */
  async function line(): Promise<string | null> {
    while (!rest.includes('\n'))
      if (!(await more())) {
        const last = rest
        rest = ''
        return last === '' ? null : last.trim()
      }
    const end = rest.indexOf('\n')
    const whole = rest.slice(0, end)
    rest = rest.slice(end + 1)
    return whole.trim()
  }

  async function unseenLine(): Promise<string | null> {
    for (let typed = ''; ;) {
      const after = typedInto(typed, rest)
      rest = after.rest ?? ''
      if (after.line === null) return null
      if (after.rest !== null) return after.line.trim()
      typed = after.line
      if (!(await more())) return null
    }
  }

  async function ask(question: string): Promise<string | null> {
    if (isTerminal) stderr.write(question)
    const answer = await line()
    // The cursor of a terminal is behind the question.
    if (answer === null && isTerminal) stderr.write('\n')
    return answer
  }

  return {
    isTerminal,
    ask,
    async askUnseen(question) {
      if (!canHide(stdin)) return ask(question)
      // Raw mode starts before the question, because a script may type as soon as it sees it.
      stdin.setRawMode(true)
      try {
        stderr.write(question)
        return await unseenLine()
      } finally {
        stdin.setRawMode(false)
        stderr.write('\n')
      }
    },
    async close() {
      await source?.return()
    },
  }
}

/** Runs a function with a prompt and closes the prompt. */
export async function withPrompt<T>(io: Io, work: (prompt: Prompt) => Promise<T>): Promise<T> {
  const prompt = openPrompt(io)
  try {
    return await work(prompt)
  } finally {
    await prompt.close()
  }
}
