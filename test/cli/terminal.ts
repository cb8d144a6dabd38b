/** The command line in this process: the words of a call in, its exit code and what it wrote out. */
import { Readable } from 'node:stream'
import { run } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config.ts'
import { serve } from '../../src/daemon.ts'
import { type Level, newLog } from '../../src/log.ts'
import { environment } from '../e2e/program.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

export type Terminal = (
  args: readonly string[],
  more?: { env?: NodeJS.ProcessEnv; input?: string },
) => Promise<Said>

/** A terminal over a state folder. */
export const terminal =
  (stateDir: string): Terminal =>
  async (args, { env = {}, input = '' } = {}) => {
    let [out, err] = ['', '']
    const code = await run(args, {
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      stdin: Readable.from([input]),
      env: environment(stateDir, env),
    })
    return { code, out, err }
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
