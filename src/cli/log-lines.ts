/**
 * The log of a command on standard error: lines of text on a terminal, otherwise JSON lines. In the
 * journal, each line has a priority.
 *
 * While a question is open on the terminal, its lines wait.
 */
import { bounded } from '../crypto/encoding/quoted.ts'
import type { Io } from './command.ts'
import { isJournal, journalLine } from './journal.ts'
import { coloured } from './output.ts'

/** A value that can be read without quotes in a list of values. */
const PLAIN = /^[^\s,()"]+$/

const fieldText = (value: unknown): string =>
  typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value)

/** The longest line, in code points. A line with a stack is shorter. */
const LONGEST = 8000

/** Returns a text without line feeds at its start of line, so that it cannot look like a line. */
const indented = (text: string): string => text.replaceAll(/[\r\n]+/g, '\n    ')

/**
 * Returns a JSON line of the log as text: the local time, the level if it is not `info`, the event,
 * its cause, and the other fields.
 */
export function textLine(
  json: string,
  paper: { readonly stream: Io['stderr']; readonly env: NodeJS.ProcessEnv },
): string {
  const { time, level, event, cause, ...fields } = JSON.parse(json) as Record<string, unknown>
  const clock = typeof time === 'string' ? `${new Date(time).toTimeString().slice(0, 8)} ` : ''
  const colour = level === 'error' ? 'red' : 'yellow'
  const severity = level === 'info' ? '' : `${coloured(colour, `${level as string}:`, paper)} `
  const why = cause == null ? '' : `: ${typeof cause === 'string' ? cause : fieldText(cause)}`
  const details = Object.entries(fields)
    .filter(([, value]) => value != null)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${fieldText(value)}`)
  const all = details.length === 0 ? '' : ` (${details.join(', ')})`
  return `${indented(bounded(`${clock}${severity}${event as string}${why}${all}`, LONGEST))}\n`
}

/** How many lines wait for an answer. After so many, all are written. */
const MOST_HELD = 1000

interface LogLines {
  /** Writes a JSON line of the log. */
  readonly write: (json: string) => void
  /** Lets lines wait. Returns a function that writes them. */
  readonly hold: () => () => void
}

const written = new WeakMap<Io['stderr'], LogLines>()

function newLogLines(stderr: Io['stderr'], env: NodeJS.ProcessEnv): LogLines {
  const isText = stderr.isTTY === true
  const isPrioritised = !isText && isJournal(env)
  const lineOf = (json: string) => {
    if (isText) return textLine(json, { stream: stderr, env })
    return isPrioritised ? journalLine(json) : json
  }
  let held: string[] | null = null
  const release = () => {
    const lines = held ?? []
    held = null
    process.off('exit', release)
    for (const line of lines) stderr.write(line)
  }
  return {
    write(json) {
      const line = lineOf(json)
      if (held === null) return void stderr.write(line)
      held.push(line)
      if (held.length > MOST_HELD) release()
    },
    hold() {
      held ??= []
      // A crash must not lose the lines before it.
      process.on('exit', release)
      return release
    },
  }
}

/** Returns the log of a command. All parts of the command share it. */
export function logLinesOf({ stderr, env }: Pick<Io, 'stderr' | 'env'>): LogLines {
  const lines = written.get(stderr) ?? newLogLines(stderr, env)
  written.set(stderr, lines)
  return lines
}
