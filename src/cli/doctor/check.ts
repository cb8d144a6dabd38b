import type { Config } from '../../config/config.ts'
import type { StartError } from '../../errors.ts'
import type { Apart } from './subprocess.ts'
import type { Holding } from './lock-owner.ts'
import type { Memory } from './memory.ts'
import type { ServerLook } from './server-answer.ts'
import type { Finding } from './finding.ts'

/** What checks stand on. What several of them need is looked at once, when the first asks. */
export interface Ground {
  readonly env: NodeJS.ProcessEnv
  /** What could be read of the environment; a setting that is wrong is absent. */
  readonly config: Partial<Config>
  readonly faults: readonly StartError[]
  /** Unix milliseconds. */
  readonly now: () => number
  readonly holding: () => Promise<Holding>
  readonly memory: Memory
  readonly apart: Apart
  /** null where there is no account server to ask. */
  readonly server: (() => Promise<ServerLook>) | null
}

export interface Check {
  /** Of the line that says that the check itself failed. */
  readonly name: string
  readonly run: (ground: Ground) => readonly Finding[] | Promise<readonly Finding[]>
}
