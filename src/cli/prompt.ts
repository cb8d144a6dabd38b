/**
 * Asks the user questions and reads the answers line by line.
 *
 * The answers come from a terminal or, in a script, from standard input. Questions are written to
 * standard error, and only if there is a terminal.
 */
import { StringDecoder } from 'node:string_decoder'
import type { Io } from './command.ts'
import { logLinesOf } from './log-lines.ts'

export interface Prompt {
  readonly isTerminal: boolean
  /** Returns the next line without surrounding spaces; null at the end of the input. */
  ask(question: string): Promise<string | null>
  /** Like `ask`, but for a secret, which the terminal does not echo. Ctrl-C returns null. */
  askUnseen(question: string): Promise<string | null>
  /** Releases standard input. */
  close(): Promise<void>
}

type Terminal = Io['stdin'] & { setRawMode(raw: boolean): unknown }

/** Returns whether standard input is a terminal with an echo that can be turned off. */
export const canHide = (stdin: Io['stdin']): stdin is Terminal =>
  stdin.isTTY === true && typeof (stdin as { setRawMode?: unknown }).setRawMode === 'function'

/** Yields standard input in chunks. */
async function* textOf(stdin: Io['stdin']): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  for await (const chunk of stdin)
    yield typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer)
  yield decoder.end()
}

/** The characters that a terminal in raw mode sends for keys that submit, cancel or edit a line. */
const ENTER = '\r\n'
const GIVE_UP = '\u0003\u0004'
const BACK = '\b\u007f'
const CLEAR = '\u0015'
/** Matches the escape sequence of an arrow key or a function key. */
const SEQUENCE = new RegExp(String.raw`\x1b(?:[[O][\d;]*[A-Za-z~])?`, 'g')
const isControl = (key: string) => key < ' '

/**
 * Adds typed text to a line in raw mode.
 * @returns `line`: the line, or null if the user cancelled; `rest`: the text after the line, or
 * null if the line is not complete
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

/** Opens a prompt. Standard input is not read before the first question. */
export function openPrompt(io: Io): Prompt {
  const { stdin, stderr } = io
  const isTerminal = stdin.isTTY === true
  let source: AsyncGenerator<string, void> | null = null
  /** Input that has not been returned as a line. */
  let rest = ''

  /** Reads another chunk. Returns whether there was one. */
  async function more(): Promise<boolean> {
    source ??= textOf(stdin)
    const { value, done } = await source.next()
    if (!done) rest += value
    return !done
  }

  /** Returns the next line. The last line need not end with a line feed. */
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

  /** Shows a question at a terminal and reads the answer. Until then, lines of the log wait. */
  async function answerTo(question: string, read: () => Promise<string | null>) {
    const release = logLinesOf(io).hold()
    let answer: string | null = null
    try {
      stderr.write(question)
      answer = await read()
      return answer
    } finally {
      // The cursor is after the question, unless the terminal echoed the Enter key.
      if (answer === null || read === unseenLine) stderr.write('\n')
      release()
    }
  }

  const ask = (question: string): Promise<string | null> =>
    isTerminal ? answerTo(question, line) : line()

  return {
    isTerminal,
    ask,
    async askUnseen(question) {
      if (!canHide(stdin)) return ask(question)
      // Start raw mode before the question is written, because a script may type as soon as it sees
      // the question.
      stdin.setRawMode(true)
      try {
        return await answerTo(question, unseenLine)
      } finally {
        stdin.setRawMode(false)
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
