import * as v from 'valibot'
import { Time } from '../fields.ts'
import type { Routes } from '../route.ts'
import { Passphrase } from './backup.ts'

/** The name of a file that a scheduled backup makes. */
export const BackupName = v.pipe(
  v.string(),
  v.regex(/^countersign-[a-z0-9]{8}-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/),
)

const Id = v.pipe(v.string(), v.regex(/^[a-z0-9]{8}$/))
const Folder = v.pipe(v.string(), v.minLength(1), v.maxLength(4096))

/** The maximum of `keep`. */
export const MOST_KEPT = 1000

export const BackupPlan = v.strictObject({
  id: Id,
  at: v.pipe(v.string(), v.regex(/^([01]\d|2[0-3]):[0-5]\d$/)),
  folder: Folder,
  keep: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MOST_KEPT)),
})
export type BackupPlan = v.InferOutput<typeof BackupPlan>

const BackupResult = v.strictObject({
  id: Id,
  made: v.nullable(v.strictObject({ name: BackupName, size_bytes: v.number(), created_at: Time })),
  deleted: v.array(BackupName),
  failure: v.nullable(v.pipe(v.string(), v.maxLength(2000))),
})
export type BackupResult = v.InferOutput<typeof BackupResult>

export const backupSchedule = {
  /** Schedule backups, or change the schedule. */
  set: {
    method: 'POST',
    path: '/local/v1/backup-schedule',
    by: 'daemon',
    errors: ['keychain_locked'],
    body: v.strictObject({ ...BackupPlan.entries, passphrase: Passphrase }),
    status: 204,
  },
  /** Get the schedule, without its passphrase. */
  read: {
    method: 'GET',
    path: '/local/v1/backup-schedule',
    by: 'daemon',
    reply: v.object({
      schedule: v.nullable(
        v.object({ ...BackupPlan.entries, set_at: Time, files: v.array(BackupName) }),
      ),
    }),
  },
  /** Make no more scheduled backups. */
  delete: {
    method: 'DELETE',
    path: '/local/v1/backup-schedule',
    by: 'daemon',
    errors: ['keychain_locked'],
    status: 204,
  },
  /** Get the passphrase of the scheduled backups, to make and test one. */
  unlock: {
    method: 'POST',
    path: '/local/v1/backup-schedule/passphrase',
    by: 'daemon',
    errors: ['invalid_state', 'keychain_locked'],
    reply: v.object({ passphrase: v.string() }),
  },
  /** Record a backup that passed its test, or the failure. */
  record: {
    method: 'POST',
    path: '/local/v1/backup-schedule/results',
    by: 'daemon',
    errors: ['invalid_state'],
    body: BackupResult,
    status: 204,
  },
} as const satisfies Routes
