/**
 * Questions to the person, and their answers line by line: from the terminal, or from standard input where a script answers. A
 * question goes to standard error, and only when somebody can read it.
 */
import { StringDecoder } from 'node:string_decoder'
import type { Io } from './command.ts'

export interface Prompt {
  readonly isTerminal: boolean
  /** The next line without the space around it; null when there is none left. */
  ask(question: string): Promise<string | null>
  /** As `ask`, for a secret: a terminal does not show what is typed. Ctrl-C answers null. */
  askUnseen(question: string): Promise<string | null>
  /** Let go of standard input. */
  close(): Promise<void>
}

type Terminal = Io['stdin'] & { setRawMode(raw: boolean): unknown }

/** Whether standard input is a terminal that can be set to show nothing. */
export const canHide = (stdin: Io['stdin']): stdin is Terminal =>
  stdin.isTTY === true && typeof (stdin as { setRawMode?: unknown }).setRawMode === 'function'

/** Standard input, as much as came at a time. */
async function* textOf(stdin: Io['stdin']): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  for await (const chunk of stdin)
    yield typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer)
  yield decoder.end()
}

/** What a terminal sends in raw mode for the keys that end, give up or edit a line. */
const ENTER = '\r\n'
const GIVE_UP = '\u0003\u0004'
const BACK = '\b\u007f'
const CLEAR = '\u0015'
/** An arrow or function key. */
const SEQUENCE = new RegExp(String.raw`\x1b(?:[[O][\d;]*[A-Za-z~])?`, 'g')
const isControl = (key: string) => key < ' '

/** A line in raw mode: what was typed of it, and whether it is over; null once it was given up. */
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

/** Standard input is touched at the first question: a command that asks nothing leaves it alone. */
export function openPrompt({ stdin, stderr }: Io): Prompt {
  const isTerminal = stdin.isTTY === true
  let source: AsyncGenerator<string, void> | null = null
  /** What came, and is in no line yet. */
  let rest = ''

  /** Whether there was more. */
  async function more(): Promise<boolean> {
    source ??= textOf(stdin)
    const { value, done } = await source.next()
    if (!done) rest += value
    return !done
  }

  /** The last line need not end in a line feed. */
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
    // The cursor of a terminal stands behind the question.
    if (answer === null && isTerminal) stderr.write('\n')
    return answer
  }

  return {
    isTerminal,
    ask,
    async askUnseen(question) {
      if (!canHide(stdin)) return ask(question)
      // Before the question, since a caller may type as soon as it sees it.
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

/** Do something with a prompt. */
export async function withPrompt<T>(io: Io, work: (prompt: Prompt) => Promise<T>): Promise<T> {
  const prompt = openPrompt(io)
  try {
    return await work(prompt)
  } finally {
    await prompt.close()
  }
}
