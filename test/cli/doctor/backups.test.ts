/** What the doctor finds about backups if none are scheduled. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { backupsCheck } from '../../../src/cli/doctor/backups.ts'
import type { DoctorContext } from '../../../src/cli/doctor/check.ts'

const NOW = Date.parse('2026-11-29T12:00:00.000Z')

const foundWith = async (lastBackup: string | null) => {
  const memory = { identity: {}, backupSchedule: null, lastBackup }
  const context = { memory, now: () => NOW } as unknown as DoctorContext
  return (await backupsCheck.run(context)).map(({ found }) => found.split('. ')[0])
}

it('names the age of the last backup, or that there is none', async () => {
  assert.deepEqual(await foundWith(null), ['none are scheduled; none was made yet'])
  assert.deepEqual(await foundWith('2026-11-29T11:59:00.000Z'), [
    'none are scheduled; the last one was made 60 seconds ago',
  ])
})
