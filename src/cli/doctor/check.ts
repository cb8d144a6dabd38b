import type { Config, ConfigSurvey } from '../../config/config.ts'
import type { Apart } from './subprocess.ts'
import type { Holding } from './lock-owner.ts'
import type { Memory } from './memory.ts'
import type { ServerLook } from './server-answer.ts'
import type { Finding } from './finding.ts'

/**
 * The input of every check. A value that several checks need is read once, when it is first used.
 */
export interface DoctorContext {
  readonly env: NodeJS.ProcessEnv
  /** The settings that could be read. An invalid setting is absent. */
  readonly config: Partial<Config>
  /** The settings as they are set, and the errors in them. */
  readonly survey: Pick<ConfigSurvey, 'faults' | 'values' | 'files'>
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number
  readonly holding: () => Promise<Holding>
  readonly memory: Memory
  readonly apart: Apart
  /** null if there is no remote account server. */
  readonly server: (() => Promise<ServerLook>) | null
}

export interface DoctorCheck {
  /** The name in the report for an error that the check itself throws. */
  readonly name: string
  readonly run: (ground: DoctorContext) => readonly Finding[] | Promise<readonly Finding[]>
}
