/** The interface of commands and their input. */
import type { ParseArgsOptionsConfig } from 'node:util'
import type { Local } from '../api/local/index.ts'
import type { Rest } from '../api/rest/index.ts'
import type { Calls } from '../api/route.ts'
import type { Config } from '../config/config.ts'
import type { ConfigPlatform } from '../config/values.ts'

/**
 * The calls of the REST table and of the command line’s own table.
 * The running daemon or this process answers them.
 */
export type Api = Calls<Rest & Local, 'daemon' | 'account' | 'both'>

/** The streams and the environment of a command; `process` is one implementation. */
export interface Io {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean }
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
  /** The platform for the defaults of the settings; by default this machine. */
  readonly machine?: ConfigPlatform
}

export interface Invocation {
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly args: readonly string[]
  readonly io: Io
  readonly config: () => Config
  /** Whether `--json` was given. */
  readonly json: boolean
  /** Runs a function with the API. Closes the connection at its end. */
  readonly withApi: <T>(work: (api: Api) => Promise<T>) => Promise<T>
  /** Prints an answer: as JSON with `--json`, otherwise the lines, which may be empty. */
  readonly print: (answer: unknown, lines: string | readonly string[]) => void
  /** Writes a message for the user to standard error; nothing with `--json`. */
  readonly say: (text: string) => void
  /** Resolves after one second, the pause between two polls for the action of another person. */
  readonly second: () => Promise<unknown>
}

export interface Command {
  /** The arguments after the command’s name, as `--help` shows them. */
  readonly usage: string
  readonly help: string
  readonly options?: ParseArgsOptionsConfig
  /** The minimum and maximum number of arguments. */
  readonly args: readonly [least: number, most: number]
  /** @returns the exit code; 0 if undefined */
  run(invocation: Invocation): Promise<number | void>
}

/** A command of the table. Its module is loaded when the command is called. */
export interface Listed {
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** Commands by name. */
export type Commands = Readonly<Record<string, Listed>>

/** Wrong usage of a command; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
