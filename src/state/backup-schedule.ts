/** The scheduled backups of this device: when and where they are made, and how they went. */
import type { MetaRows } from './meta.ts'

export interface BackupSchedule {
  /** Eight random characters, which the names of the files and of the timer contain. */
  readonly id: string
  /** The time of the day, `HH:MM` in the time zone of the machine. */
  readonly at: string
  /** The absolute path of the folder with the files. */
  readonly folder: string
  /** How many files are kept. */
  readonly keep: number
  readonly set_at: string
  /** The names of the files in the folder, in the order in which they were made. */
  readonly files: readonly string[]
  /** When the last backup that passed its restore test was made; null if there was none. */
  readonly last_success_at: string | null
  /** The last failure; null if there was none since the last success. */
  readonly last_failure: { readonly at: string; readonly message: string } | null
}

/** The name of the passphrase in the keychain. It is in no backup. */
export const SCHEDULED_PASSPHRASE = 'backup'

const KEY = 'backup_schedule'

interface Meta {
  readonly meta: MetaRows
}

/** Returns the schedule; null if none is set. */
export const readSchedule = ({ meta }: Meta): BackupSchedule | null =>
  meta.get(KEY) as BackupSchedule | null

export const storeSchedule = ({ meta }: Meta, schedule: BackupSchedule): void =>
  meta.set(KEY, schedule)

export const forgetSchedule = ({ meta }: Meta): void => meta.delete(KEY)

/** After this time without a success, in milliseconds, a daily backup is missing: two days. */
const LATE_MS = 2 * 86_400_000 + 3_600_000

/**
 * Returns what is wrong with the scheduled backups, as a clause; null if nothing is.
 *
 * A time in the future comes from a clock that was wrong then or is wrong now, so the age of the
 * backup is not known.
 */
export function scheduleFault(schedule: BackupSchedule, now: number): string | null {
  const { last_success_at: success, last_failure: failure, set_at: set } = schedule
  if (failure !== null) return `failed at ${failure.at}: ${failure.message}`
  const since = Date.parse(success ?? set)
  if (since - now > 3_600_000)
    return `has the time ${success ?? set}, which is in the future: check the clock of this machine`
  if (now - since <= LATE_MS) return null
  return success === null
    ? `was never made since it was scheduled at ${set}`
    : `was last made at ${success}`
}
