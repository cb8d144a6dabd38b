/** Marks what a command shows while the account server is away: it comes from copies. */
import type { Io } from './command.ts'
import { clockTime } from './times.ts'

interface CopyMark {
  /** Must be called with each answer of the API. Writes a line for the first copy. */
  readonly note: (answer: unknown) => void
  /** Returns the output of a command, with the age of the oldest copy that it used. */
  readonly onto: (output: unknown) => unknown
}

/** Creates the mark of one command. With `json`, only the output has it. */
export function newCopyMark({ stderr }: Pick<Io, 'stderr'>, json: boolean): CopyMark {
  let oldest: string | null = null
  return {
    note(answer) {
      const { as_of } = (answer ?? {}) as { as_of?: unknown }
      if (typeof as_of !== 'string') return
      const isFirst = oldest === null
      if (oldest === null || as_of < oldest) oldest = as_of
      if (!isFirst || json) return
      const time = clockTime(new Date(as_of), new Date())
      stderr.write(
        `The account server does not answer. Lists are as of ${time}; words and checks are current.\n`,
      )
    },
    onto: (output) =>
      oldest === null || typeof output !== 'object' || output === null || Array.isArray(output)
        ? output
        : { ...output, as_of: oldest },
  }
}
