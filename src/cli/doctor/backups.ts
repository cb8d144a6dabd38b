/** Checks whether the scheduled backups are made. */
import { scheduleFault } from '../../state/backup-schedule.ts'
import type { DoctorCheck } from './check.ts'
import { durationText, fail, ok } from './finding.ts'

const NAME = 'backups'

/** Checks the schedule and the last results. The folder itself may belong to another user. */
export const backupsCheck: DoctorCheck = {
  name: NAME,
  run({ memory, now }) {
    const { identity, backupSchedule: schedule, lastBackup } = memory
    if (identity === null) return []
    const age = (at: string) => `${durationText(now() - Date.parse(at))} ago`
    if (schedule === null)
      return [
        ok(
          NAME,
          `none are scheduled; ${lastBackup === null ? 'none was made yet' : `the last one was made ${age(lastBackup)}`}. To schedule them: countersignd backup --schedule 03:00 --to FOLDER`,
        ),
      ]
    const { at, folder, keep, last_success_at: success } = schedule
    const plan = `daily at ${at} to ${folder}, ${keep} kept`
    const fault = scheduleFault(schedule, now())
    return [
      fault === null
        ? ok(
            NAME,
            `${plan}; ${success === null ? 'none was made yet' : `the last one passed its restore test ${age(success)}`}`,
          )
        : fail(
            NAME,
            `${plan}; the scheduled backup ${fault}`,
            'Correct that, then run: countersignd backup --scheduled',
          ),
    ]
  },
}
