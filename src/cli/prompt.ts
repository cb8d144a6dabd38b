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
  /** Let go of standard input. */
  close(): Promise<void>
}

/** Standard input as lines; the last one need not end in a line feed. */
async function* linesOf(stdin: Io['stdin']): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of stdin) {
    const lines = (
      rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk as Buffer))
    ).split('\n')
    rest = lines.pop() as string
    yield* lines
  }
  rest += decoder.end()
  if (rest !== '') yield rest
}

/** Standard input is touched at the first question: a command that asks nothing leaves it alone. */
export function openPrompt({ stdin, stderr }: Io): Prompt {
  const isTerminal = stdin.isTTY === true
  let lines: AsyncGenerator<string, void> | null = null
  return {
    isTerminal,
    async ask(question) {
      if (isTerminal) stderr.write(question)
      lines ??= linesOf(stdin)
      const { value, done } = await lines.next()
      if (!done) return value.trim()
      // The cursor of a terminal stands behind the question.
      if (isTerminal) stderr.write('\n')
      return null
    },
    async close() {
      await lines?.return()
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
