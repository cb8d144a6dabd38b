/** The interface between commands and the code that runs them. */
import type { ParseArgsOptionDescriptor } from 'node:util'
import type { ConsoleTable } from '../api/console/index.ts'
import type { Local } from '../api/local/index.ts'
import type { Reference } from '../api/naming/kinds.ts'
import type { Rest } from '../api/rest/index.ts'
import type { Calls } from '../api/route.ts'
import type { Config } from '../config/config.ts'
import type { ConfigPlatform } from '../config/values.ts'

/**
 * The calls of the REST table, of the command line's own table and of the console.
 *
 * The running daemon answers them, or this process.
 */
export type Api = Calls<Rest & Local & ConsoleTable, 'daemon' | 'account' | 'both'>

/** The streams and the environment of a command. `process` implements this interface. */
export interface Io {
  readonly stdout: {
    write(text: string): unknown
    readonly isTTY?: boolean
    /** The width of the terminal. */
    readonly columns?: number
  }
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
  readonly stdin: AsyncIterable<Uint8Array | string> & {
    readonly isTTY?: boolean
    /** Ends a read in progress. */
    destroy?(): unknown
  }
  readonly env: NodeJS.ProcessEnv
  /** The platform that determines the default settings (default: this machine). */
  readonly machine?: ConfigPlatform
}

export interface Invocation {
  /** As typed, but with ids in place of names in what the command `takes`. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly args: readonly string[]
  /** Returns the name and the id of what the user named; if they gave the id, only the id. */
  readonly called: (id: string) => string
  readonly io: Io
  readonly config: () => Config
  /** Whether `--json` was given. */
  readonly json: boolean
  /**
   * Runs a function with the API. Closes the connection afterwards. `hasDaemon` is whether a
   * running daemon answers, and not this process.
   */
  readonly withApi: <T>(work: (api: Api, hasDaemon: boolean) => Promise<T>) => Promise<T>
  /** Prints an answer: with `--json` as JSON, otherwise as these lines. There may be no lines. */
  readonly print: (answer: unknown, lines: string | readonly string[]) => void
  /** Writes a message for the user to standard error. With `--json`, writes nothing. */
  readonly say: (text: string) => void
  /** Must be called when a server listens. */
  readonly started: () => void
  /** Resolves after this time in milliseconds: the pause between two polls. */
  readonly pause: (ms: number) => Promise<unknown>
}

/** The options of a command, as `parseArgs` accepts them. */
export type CommandOptions = Readonly<
  Record<
    string,
    ParseArgsOptionDescriptor & {
      readonly takes?: Reference
      /** The words that the value has, separated by commas, for completion. */
      readonly words?: readonly string[]
      /** The field of the request that the option sets (default: the field with its name). */
      readonly sets?: string
    }
  >
>

export interface Command {
  /** The arguments after the command's name, as `--help` shows them. */
  readonly usage: string
  readonly help: string
  /** Examples: what follows the name of the program, and what it does. */
  readonly examples?: Readonly<Record<string, string>>
  readonly options?: CommandOptions
  /** The options that must be given: one of each of these. */
  readonly needs?: readonly (readonly string[])[]
  /** What each argument can name; null for an argument that is a text. */
  readonly takes?: readonly (Reference | null)[]
  /** What each argument after these can name. */
  readonly takesMore?: Reference
  /** The minimum and maximum number of arguments. */
  readonly args: readonly [least: number, most: number]
  /**
   * Checks what was typed before names are looked up, so that wrong usage sends no request.
   * @throws UsageError
   */
  readonly check?: (given: Pick<Invocation, 'args' | 'options'>) => void
  /** @returns the exit code; 0 if undefined */
  run(invocation: Invocation): Promise<number | void>
}

/** A section of `--help`. */
export type HelpSection =
  'calls' | 'people' | 'stamps' | 'account' | 'organisations' | 'scripts' | 'run' | 'help'

/** A command in the table. Its module is loaded when the command is called. */
export interface Listed {
  readonly section: HelpSection
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** Commands by name. */
export type Commands = Readonly<Record<string, Listed>>

/** The error for wrong usage of a command (exit code 2). */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
