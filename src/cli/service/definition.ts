/**
 * The definition of a service on any system: its files, and the commands that start, stop and
 * query it.
 */

/** `user` runs while the user is logged in; `system` runs from boot on under its own user. */
export type ServiceScope = 'user' | 'system'

/** The systems that have a definition. */
export const PLATFORMS = ['linux', 'darwin', 'win32'] as const
export type ServicePlatform = (typeof PLATFORMS)[number]

/** A command as separate words, run without a shell. */
export type CommandWords = readonly [program: string, ...words: string[]]

/** The input of a definition. */
export interface ServiceSettings {
  readonly scope: ServiceScope
  /** The words that start this program; the command follows them. */
  readonly program: CommandWords
  /** The user’s home folder, an absolute path. */
  readonly home: string
  /** The user’s id; null if the system has none. */
  readonly uid: number | null
  readonly env: NodeJS.ProcessEnv
}

export interface ServiceFile {
  readonly path: string
  readonly content: string
  readonly mode: number
  readonly encoding: 'utf8' | 'utf16le'
}

/** The state of the service as its manager reports it. */
export interface ServiceState {
  readonly enabled: boolean
  readonly running: boolean
  /** The start time in the manager’s format; null if it reports none. */
  readonly since: string | null
}

export interface Definition {
  /** The name that the service manager uses. */
  readonly name: string
  readonly file: ServiceFile
  /** The text by which the file names the program it runs. */
  readonly mark: string
  /**
   * Conditions checked before any write: a command that must succeed, and the remedy if it fails.
   */
  readonly demands: readonly { readonly words: CommandWords; readonly remedy: string }[]
  /** Commands run before an older installation is replaced. Their result is ignored. */
  readonly before: readonly CommandWords[]
  /** The commands from the written file to the running service. They replace an older one. */
  readonly start: readonly CommandWords[]
  /** Whether the last command of `start` waits until the daemon answers. */
  readonly startWaits: boolean
  /**
   * The commands that stop and disable the service, run before the file is removed. Their result
   * is ignored.
   */
  readonly end: readonly CommandWords[]
  /** Commands run after the file was removed. */
  readonly after: readonly CommandWords[]
  readonly ask: CommandWords
  /** Parses the output of `ask`. */
  standing(answer: { readonly code: number | null; readonly out: string }): ServiceState
  /**
   * Returns whether the output of `ask` shows that the daemon ended because a newer version had
   * migrated its state.
   */
  refusesState(answer: { readonly out: string }): boolean
  /** The command that checks whether the daemon answers, and variables to add to the caller’s. */
  readonly health: { readonly words: CommandWords; readonly env: NodeJS.ProcessEnv }
  /** The state folder; null if the environment of the service sets it. */
  readonly stateDir: string | null
  /** Where the variables of the service are set. */
  readonly settings: string
  /**
   * The files that remain when the service is removed, besides its state; null if the settings
   * are in the definition itself.
   */
  readonly keeps: string | null
  /** How to read the log. */
  readonly log: string
}

/** Returns the command that waits until the daemon answers, for managers that do not wait. */
export const waiting = ({ health }: Definition): CommandWords => [...health.words, '--wait', '60']

export const TITLE = 'Countersign: the daemon that holds the session and the keys of an account'

/** Returns the path to which the executable is copied. */
export function unitPath(
  platform: ServicePlatform,
  { scope, home, env }: Omit<ServiceSettings, 'program'>,
): string {
  if (platform !== 'win32')
    return scope === 'system' ? '/usr/local/bin/countersignd' : `${home}/.local/bin/countersignd`
  const folder =
    scope === 'system'
      ? (env['ProgramFiles'] ?? 'C:\\Program Files')
      : `${env['LOCALAPPDATA'] ?? `${home}\\AppData\\Local`}\\Programs`
  return `${folder}\\Countersign\\countersignd.exe`
}
