/**
 * The schedule of backups, as the daemon stores it.
 *
 * The daemon has the schedule, the passphrase and the results. A timer of the system runs the
 * command that makes the files, because a confined daemon may write only to its own folder.
 */
import { timeAt } from '../api/fields.ts'
import type { BackupScheduling } from '../handlers/local.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { Log } from '../log.ts'
import {
  type BackupSchedule,
  SCHEDULED_PASSPHRASE,
  forgetSchedule,
  readSchedule,
  storeSchedule,
} from '../state/backup-schedule.ts'
import type { State } from '../state/state.ts'

const none = () =>
  new AppError(
    'invalid_state',
    'No backups are scheduled. Schedule them: countersignd backup --schedule 03:00 --to FOLDER',
  )

export function newBackupScheduling(of: {
  state: State
  keychain: Keychain
  now: () => number
  log: Log
}): BackupScheduling {
  const { state, keychain, now, log } = of
  function scheduled(): BackupSchedule {
    const schedule = readSchedule(state)
    if (schedule === null) throw none()
    return schedule
  }

  return {
    set(plan, passphrase) {
      const before = readSchedule(state)
      const isSame = before?.id === plan.id
      keychain.set(SCHEDULED_PASSPHRASE, passphrase)
      storeSchedule(state, {
        ...plan,
        set_at: timeAt(now()),
        files: isSame && before.folder === plan.folder ? before.files : [],
        last_success_at: isSame ? before.last_success_at : null,
        last_failure: null,
      })
      const { at, folder, keep } = plan
      log('info', 'backups scheduled', { at, folder, keep })
    },
    read: () => readSchedule(state),
    delete() {
      if (readSchedule(state) !== null) log('info', 'backups no longer scheduled')
      forgetSchedule(state)
      keychain.delete(SCHEDULED_PASSPHRASE)
    },
    passphrase() {
      scheduled()
      const passphrase = keychain.get(SCHEDULED_PASSPHRASE)
      if (passphrase === null)
        throw new AppError(
          'invalid_state',
          'The keychain does not have the passphrase of the scheduled backups. Schedule them again: countersignd backup --schedule 03:00 --to FOLDER',
        )
      return passphrase
    },
    record({ id, made, deleted, failure }) {
      const before = scheduled()
      if (before.id !== id) throw none()
      const files = before.files.filter((name) => !deleted.includes(name))
      storeSchedule(state, {
        ...before,
        files: made === null || files.includes(made.name) ? files : [...files, made.name],
        last_success_at:
          failure === null && made !== null ? made.created_at : before.last_success_at,
        last_failure: failure === null ? null : { at: timeAt(now()), message: failure },
      })
      if (failure !== null) log('warn', 'scheduled backup failed', { cause: failure })
      else if (made !== null)
        log('info', 'scheduled backup made', {
          file: made.name,
          size_bytes: made.size_bytes,
          deleted: deleted.length,
        })
    },
  }
}
