/** The input of the timer of scheduled backups. */
import type { ServiceSettings } from './definition.ts'

export interface TimerSettings extends Omit<ServiceSettings, 'socket'> {
  /** Characters that keep the timers of several state folders apart. */
  readonly id: string
  /** `HH:MM`, in the time zone of the machine. */
  readonly at: string
  /** The folder that the command writes to. */
  readonly folder: string
  /** The state folder; null if the command finds the service of the machine. */
  readonly stateDir: string | null
}

/** The arguments of the command that a timer runs. */
export const SCHEDULED = ['backup', '--scheduled'] as const
