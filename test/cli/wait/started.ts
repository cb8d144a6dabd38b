/** A command that runs beside others, until it ends by itself. */
import assert from 'node:assert/strict'
import { run } from '../../../src/cli/run.ts'
import { environment } from '../../e2e/program.ts'
import { type CommandResult, streams, type Typed } from '../terminal.ts'

export interface Started {
  /** Resolves as soon as a pattern is in the output; rejects if the command ends without it. */
  readonly seen: (pattern: RegExp) => Promise<RegExpMatchArray>
  readonly ended: Promise<CommandResult>
}

/** Starts a command over a state folder, in this process. */
export function started(stateDir: string, args: readonly string[], more: Typed = {}): Started {
  const { result, io } = streams(more)
  const waiting = new Set<() => void>()
  const noted = (stream: { write(text: string): unknown }) => ({
    ...stream,
    write(text: string) {
      stream.write(text)
      for (const check of waiting) check()
    },
  })
  const [stdout, stderr] = [noted(io.stdout), noted(io.stderr)]
  const env = environment(stateDir, more.env)
  const ended = run([...args], { ...io, stdout, stderr, env }).then((code) => ({ code, ...result }))
  return {
    ended,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const match = result.out.match(pattern) ?? result.err.match(pattern)
          if (match === null) return false
          waiting.delete(check)
          resolve(match)
          return true
        }
        waiting.add(check)
        check()
        void ended.then(() => {
          if (!check()) reject(new assert.AssertionError({ message: result.err }))
        })
      }),
  }
}
