/**
 * Makes one scheduled backup: writes it, tests it, and deletes the oldest files.
 *
 * A timer runs this command every day. The daemon has the passphrase, and records the result.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, StartError, isFullDisk } from '../../errors.ts'
import type { Api, Invocation } from '../command.ts'
import { backupName, deleteIncomplete, deleteOldest, requireMark } from './folder.ts'
import { makeBackup } from './stream.ts'

type Result = Parameters<Api['backupSchedule']['record']>[0]['body']
type Schedule = NonNullable<Awaited<ReturnType<Api['backupSchedule']['read']>>['schedule']>

/** The longest reason that is recorded, in UTF-16 code units. */
const LONGEST = 1000

function reasonOf(error: unknown, folder: string): Error {
  if (isFullDisk(error))
    return new StartError(
      'failed',
      `The disk of ${folder} is full. No backup was made, and no earlier one was deleted. Free some space, or keep fewer backups.`,
      error,
    )
  return error instanceof Error ? error : new Error(String(error))
}

/**
 * Writes and tests the file.
 * @throws the reason, after a file that cannot be restored was deleted
 */
async function makeTested(api: Api, { folder, id }: Schedule, passphrase: string) {
  const name = backupName(id, new Date())
  const path = join(folder, name)
  const { size } = await makeBackup(api, path, passphrase, 'the clock of this machine')
  const { testRestore } = await import('../../daemon/restore-test.ts')
  try {
    const { created_at, sealed_secrets, lost_secrets } = await testRestore(path, passphrase)
    const made = { name, size_bytes: size, created_at }
    return { made, lost: lost_secrets.length, of: sealed_secrets }
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}

/**
 * Makes one scheduled backup.
 * @throws StartError, AppError: the reason, after it was recorded
 */
export async function runScheduled({ withApi, print }: Invocation): Promise<void> {
  await withApi(async (api) => {
    const { schedule } = await api.backupSchedule.read({})
    if (schedule === null)
      throw new StartError(
        'failed',
        'No backups are scheduled. Schedule them: countersignd backup --schedule 03:00 --to FOLDER',
      )
    const { id, folder, keep, files } = schedule
    const record = (result: Omit<Result, 'id'>) =>
      api.backupSchedule.record({ body: { id, ...result } })
    let made: Result['made'] = null
    try {
      requireMark(folder, id)
      deleteIncomplete(folder, id, Date.now())
      const { passphrase } = await api.backupSchedule.unlock({})
      const tested = await makeTested(api, schedule, passphrase)
      made = tested.made
      // The earlier backups may still have what is damaged now, so none of them is deleted.
      if (tested.lost > 0)
        throw new StartError(
          'failed',
          `${tested.lost} of ${tested.of} encrypted secrets of this device are damaged, also in the backup ${made.name}. No earlier backup was deleted. Run "countersignd doctor".`,
        )
      const deleted = deleteOldest(folder, [...files, made.name], keep)
      await record({ made, deleted, failure: null })
      print({ file: join(folder, made.name), ...made, tested: true, deleted }, [
        join(folder, made.name),
      ])
    } catch (error) {
      // The backup that is in progress has its own result.
      if (error instanceof AppError && error.code === 'in_progress') throw error
      const reason = reasonOf(error, folder)
      await record({ made, deleted: [], failure: reason.message.slice(0, LONGEST) }).catch(
        () => undefined,
      )
      throw reason
    }
  })
}
