/**
 * Runs the command line in this process: takes the words of a command, returns its exit code and
 * its output.
 */
import { Readable } from 'node:stream'
import { run } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config/config.ts'
import { serve } from '../../src/daemon/daemon.ts'
import { type Level, newLog } from '../../src/log.ts'
import { environment } from '../e2e/program.ts'
import '../declared-errors.ts'
import { withoutWaiting } from '../waiting-line.ts'

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/**
 * Returns what the user types at a prompt, given the output so far; null ends the input (Ctrl-D).
 */
export type Person = (seen: string) => string | null | Promise<string | null>

export interface Typed {
  readonly env?: NodeJS.ProcessEnv
  /** The text that comes through a pipe. */
  readonly input?: string
  /** A user at a terminal, instead of a pipe. */
  readonly person?: Person
  /** The width of the terminal that shows the output, instead of a pipe. */
  readonly columns?: number
}

export type Terminal = (args: readonly string[], more?: Typed) => Promise<CommandResult>

/** The text of a regular expression for a time as people see it. */
export const WHEN = String.raw`\d+ [A-Z][a-z]{2}(?: \d{4})? \d\d:\d\d \([^)]+\)`

/** Returns the streams of a command, and the text written to them. */
export function streams({ input = '', person, columns }: Typed = {}) {
  const result = { out: '', err: '' }
  async function* typed() {
    for (;;) {
      const line = await person?.(result.err)
      if (line == null) return
      yield `${line}\n`
    }
  }
  const stdin =
    person === undefined ? Readable.from([input]) : Object.assign(typed(), { isTTY: true })
  return {
    result,
    io: {
      stdout: {
        write: (text: string) => (result.out += text),
        ...(columns === undefined ? {} : { isTTY: true, columns }),
      },
      stderr: {
        write: (text: string) => (result.err += withoutWaiting(text)),
        ...(person === undefined ? {} : { isTTY: true }),
      },
      stdin,
    },
  }
}

/** Returns a terminal over a state folder. */
export const terminal =
  (stateDir: string): Terminal =>
  async (args, more = {}) => {
    const { result, io } = streams(more)
    const code = await run(args, { ...io, env: environment(stateDir, more.env) })
    return { code, ...result }
  }

/** Starts a daemon in this process; `log` returns its whole log. */
export async function daemonHere(
  stateDir: string,
  level: Level = 'debug',
  env: NodeJS.ProcessEnv = {},
) {
  const lines: string[] = []
  const log = newLog(level, (line) => lines.push(line))
  const daemon = await serve(readConfig(environment(stateDir, env)), log)
  // The tests that start a daemon here use TCP.
  return { ...daemon, address: daemon.address as string, log: () => lines.join('') }
}
