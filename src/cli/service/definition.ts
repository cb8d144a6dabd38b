/**
 * The definition of a service on any system.
 *
 * It consists of a file, and of the commands that start, stop and query the service.
 */

/** `user`: runs while the user is logged in. `system`: runs from boot, as a separate user. */
export type ServiceScope = 'user' | 'system'

/** The systems for which there is a definition. */
export const PLATFORMS = ['linux', 'darwin', 'win32'] as const
export type ServicePlatform = (typeof PLATFORMS)[number]

/** A command as separate words. It is run without a shell. */
export type CommandWords = readonly [program: string, ...words: string[]]

/** The input from which a definition is made. */
export interface ServiceSettings {
  readonly scope: ServiceScope
  /** The words that start this program. The name of a command follows them. */
  readonly program: CommandWords
  /** The absolute path of the user's home folder. */
  readonly home: string
  /** The user's uid; null if the system has none. */
  readonly uid: number | null
  readonly env: NodeJS.ProcessEnv
  /**
   * The socket that starts the daemon at its first use; null if there is none.
   *
   * `group`: the group that may connect; null for the owner only.
   */
  readonly socket: { readonly group: string | null } | null
}

export interface ServiceFile {
  readonly path: string
  readonly content: string
  readonly mode: number
  readonly encoding: 'utf8' | 'utf16le'
}

/** The state of the service, as the service manager reports it. */
export interface ServiceState {
  readonly enabled: boolean
  readonly running: boolean
  /** The start time in the service manager's format; null if the manager does not report it. */
  readonly since: string | null
}

/** The definition of the socket that the service manager creates and passes to the daemon. */
export interface SocketDefinition {
  readonly file: ServiceFile
  /** Commands to run after its file was written, before those that start the service. */
  readonly start: readonly CommandWords[]
  /** Commands that stop and disable it. Their result is ignored. */
  readonly end: readonly CommandWords[]
}

export interface Definition {
  /** The service's name in the service manager. */
  readonly name: string
  readonly file: ServiceFile
  /** Null if the service manager creates no socket. */
  readonly socket: SocketDefinition | null
  /** The text in the file that names the program. */
  readonly mark: string
  /** Checks before anything is written: each command must succeed, or its remedy is shown. */
  readonly demands: readonly { readonly words: CommandWords; readonly remedy: string }[]
  /** Commands to run before an older installation is replaced. Their result is ignored. */
  readonly before: readonly CommandWords[]
  /** Commands that start the service after its file was written. They replace an older service. */
  readonly start: readonly CommandWords[]
  /** Whether the last command of `start` waits until the daemon answers. */
  readonly startWaits: boolean
  /**
   * Commands that stop and disable the service, before its file is removed.
   *
   * Their result is ignored.
   */
  readonly end: readonly CommandWords[]
  /** Commands to run after the file was removed. */
  readonly after: readonly CommandWords[]
  readonly ask: CommandWords
  /** Parses the output of `ask`. */
  standing(answer: { readonly code: number | null; readonly out: string }): ServiceState
  /**
   * Returns whether the output of `ask` shows that the daemon refused its state.
   *
   * The daemon then ended because a newer version had migrated the state.
   */
  refusesState(answer: { readonly out: string }): boolean
  /** The command that checks whether the daemon answers, and additional environment variables. */
  readonly health: { readonly words: CommandWords; readonly env: NodeJS.ProcessEnv }
  /** The state folder; null if the service's environment determines it. */
  readonly stateDir: string | null
  /** Where the service's environment variables are set. */
  readonly settings: string
  /**
   * What remains when the service is removed, besides its state: the folder with its settings.
   *
   * Null if the settings are in the definition itself.
   */
  readonly remainingFolder: string | null
  /** How the user can read the log. */
  readonly log: string
}

/** Returns a command that waits until the daemon answers, for service managers that do not wait. */
export const waiting = ({ health }: Definition): CommandWords => [...health.words, '--wait', '60']

export const TITLE = 'Countersign: the daemon that holds the session and the keys of an account'

/** Returns the path that the executable is copied to. */
export function unitPath(
  platform: ServicePlatform,
  { scope, home, env }: Pick<ServiceSettings, 'scope' | 'home' | 'env'>,
): string {
  if (platform !== 'win32')
    return scope === 'system' ? '/usr/local/bin/countersignd' : `${home}/.local/bin/countersignd`
  const folder =
    scope === 'system'
      ? (env['ProgramFiles'] ?? 'C:\\Program Files')
      : `${env['LOCALAPPDATA'] ?? `${home}\\AppData\\Local`}\\Programs`
  return `${folder}\\Countersign\\countersignd.exe`
}
