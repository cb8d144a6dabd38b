/** What a service is made of, whichever system runs it: its files, and the commands that start it, end it and ask for it. */

/** `user` runs while its user is there, `system` from boot on as a user of its own. */
export type Scope = 'user' | 'system'

/** The systems that a definition can be made for. */
export const PLATFORMS = ['linux', 'darwin', 'win32'] as const
export type ServicePlatform = (typeof PLATFORMS)[number]

/** One command that is run, word by word and without a shell. */
export type Words = readonly [program: string, ...words: string[]]

/** What a definition is made from. */
export interface Wanted {
  readonly scope: Scope
  /** The words that start this program; a command follows them. */
  readonly program: Words
  /** The user's home folder, absolute. */
  readonly home: string
  /** The user's id; null where the system has none. */
  readonly uid: number | null
  readonly env: NodeJS.ProcessEnv
}

export interface ServiceFile {
  readonly path: string
  readonly content: string
  readonly mode: number
  readonly encoding: 'utf8' | 'utf16le'
}

/** What a service manager says of the service. */
export interface Standing {
  readonly enabled: boolean
  readonly running: boolean
  /** Since when it runs, as the manager says it; null where it does not say so. */
  readonly since: string | null
}

export interface Definition {
  /** As its manager calls it. */
  readonly name: string
  readonly file: ServiceFile
  /** How the file names the program that it runs. */
  readonly mark: string
  /** What must hold before anything is written: a command that succeeds, and what to do where it does not. */
  readonly demands: readonly { readonly words: Words; readonly remedy: string }[]
  /** Run before an older installation is replaced, whatever comes of it. */
  readonly before: readonly Words[]
  /** From the written file to the running service, an older one replaced. */
  readonly start: readonly Words[]
  /** Whether the last of those waits until the daemon answers. */
  readonly startWaits: boolean
  /** From the running service to nothing that starts again, while the file is still there, whatever comes of it. */
  readonly end: readonly Words[]
  /** After the file was removed. */
  readonly after: readonly Words[]
  readonly ask: Words
  /** What the answer of `ask` says. */
  standing(answer: { readonly code: number | null; readonly out: string }): Standing
  /** Whether the answer of `ask` says that the daemon ended because a newer one has brought its state forward. */
  refusesState(answer: { readonly out: string }): boolean
  /** Asks the daemon whether it answers, with these variables beside the caller's. */
  readonly health: { readonly words: Words; readonly env: NodeJS.ProcessEnv }
  /** Where its state lies; null where the environment of the service says so. */
  readonly stateDir: string | null
  /** Where the variables of the service are set. */
  readonly settings: string
  /** What stays when the service is removed, beside its state; null where the settings are in the definition itself. */
  readonly keeps: string | null
  /** How its log is read. */
  readonly log: string
}

/** Waits until the daemon of a service answers, where its manager does not. */
export const waiting = ({ health }: Definition): Words => [...health.words, '--wait', '60']

export const TITLE = 'Countersign: the daemon that holds the session and the keys of an account'

/** Where the executable is copied to. */
export function placeOf(
  platform: ServicePlatform,
  { scope, home, env }: Omit<Wanted, 'program'>,
): string {
  if (platform !== 'win32')
    return scope === 'system' ? '/usr/local/bin/countersignd' : `${home}/.local/bin/countersignd`
  const folder =
    scope === 'system'
      ? (env['ProgramFiles'] ?? 'C:\\Program Files')
      : `${env['LOCALAPPDATA'] ?? `${home}\\AppData\\Local`}\\Programs`
  return `${folder}\\Countersign\\countersignd.exe`
}
