/** What a command of the command line is, and what it gets to work with. */
import type { ParseArgsOptionsConfig } from 'node:util'
import type { Local } from '../api/local/index.ts'
import type { Rest } from '../api/rest/index.ts'
import type { Calls } from '../api/route.ts'
import type { Config } from '../config/config.ts'
import type { Platform } from '../config/values.ts'

/** The calls of the REST table and of the command line's own, answered by the running daemon or by this process. */
export type Api = Calls<Rest & Local, 'daemon' | 'account' | 'both'>

/** The streams and the environment; `process` is one. */
export interface Io {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean }
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
  /** What the settings stand on; absent, this machine. */
  readonly machine?: Platform
}

export interface Invocation {
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly args: readonly string[]
  readonly io: Io
  readonly config: () => Config
  /** Whether `--json` was given. */
  readonly json: boolean
  /** Do something with the API; the connection is closed when it ends. */
  readonly withApi: <T>(work: (api: Api) => Promise<T>) => Promise<T>
  /** Print an answer: as JSON with `--json`, else the lines, which may be none. */
  readonly print: (answer: unknown, lines: string | readonly string[]) => void
  /** Say something to the person, beside the output. */
  readonly say: (text: string) => void
  /** Resolves after a second, between two questions whether somebody else has acted. */
  readonly second: () => Promise<unknown>
}

export interface Command {
  /** What follows the command's name, as `--help` shows it. */
  readonly usage: string
  readonly help: string
  readonly options?: ParseArgsOptionsConfig
  /** The least and the most arguments. */
  readonly args: readonly [least: number, most: number]
  /** @returns the exit code; nothing means 0 */
  run(invocation: Invocation): Promise<number | void>
}

/** A mistake in how a command was called; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
