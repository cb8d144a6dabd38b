/** The command line in this process: the words of a call in, its exit code and what it wrote out. */
import { Readable } from 'node:stream'
import { run } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config/config.ts'
import { serve } from '../../src/daemon/daemon.ts'
import { type Level, newLog } from '../../src/log.ts'
import { environment } from '../e2e/program.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** What a person types at a question, who sees all that was said before; null ends the input (Ctrl-D). */
export type Person = (seen: string) => string | null | Promise<string | null>

export interface Typed {
  readonly env?: NodeJS.ProcessEnv
  /** What comes through a pipe. */
  readonly input?: string
  /** Somebody at a terminal, in the place of a pipe. */
  readonly person?: Person
}

export type Terminal = (args: readonly string[], more?: Typed) => Promise<Said>

/** The streams of a call, and what was written to them. */
export function streams({ input = '', person }: Typed = {}) {
  const said = { out: '', err: '' }
  async function* typed() {
    for (;;) {
      const line = await person?.(said.err)
      if (line == null) return
      yield `${line}\n`
    }
  }
  const stdin =
    person === undefined ? Readable.from([input]) : Object.assign(typed(), { isTTY: true })
  return {
    said,
    io: {
      stdout: { write: (text: string) => (said.out += text) },
      stderr: {
        write: (text: string) => (said.err += text),
        ...(person === undefined ? {} : { isTTY: true }),
      },
      stdin,
    },
  }
}

/** A terminal over a state folder. */
export const terminal =
  (stateDir: string): Terminal =>
  async (args, more = {}) => {
    const { said, io } = streams(more)
    const code = await run(args, { ...io, env: environment(stateDir, more.env) })
    return { code, ...said }
  }

/** A daemon in this process; `log` is all that it wrote. */
export async function daemonHere(
  stateDir: string,
  level: Level = 'debug',
  env: NodeJS.ProcessEnv = {},
) {
  const lines: string[] = []
  const log = newLog(level, (line) => lines.push(line))
  const daemon = await serve(readConfig(environment(stateDir, env)), log)
  return { ...daemon, log: () => lines.join('') }
}
