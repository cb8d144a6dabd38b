/**
 * Handlers that only the command line uses, outside the documented API.
 *
 * They manage the session, operations with this device's keys, and backups.
 */
import { timeAt } from '../api/fields.ts'
import type { BackupPlan, BackupResult } from '../api/local/backup-schedule.ts'
import type { Local } from '../api/local/index.ts'
import type { Answers } from '../api/route.ts'
import type { BackupSchedule } from '../state/backup-schedule.ts'
import { dismissSetKey, sayWhoSet, setElsewhere } from '../device/trust/recovery-notice.ts'
import type { HandlerContext } from './context.ts'

/**
 * Creates a copy of all data of this device, encrypted with a passphrase. Also returns the path of
 * the account database.
 */
type Backup = (
  passphrase: string,
) => Promise<{ bytes: AsyncIterable<Uint8Array>; accountDatabase: string }>

/** The schedule of backups, and the passphrase that seals them. */
export interface BackupScheduling {
  set(plan: BackupPlan, passphrase: string): void
  read(): BackupSchedule | null
  delete(): void
  /** @throws AppError invalid_state if no backups are scheduled; keychain_locked */
  passphrase(): string
  /** @throws AppError invalid_state if no backups, or others, are scheduled */
  record(result: BackupResult): void
}

export const localAnswers = (
  backup: Backup,
  scheduling: () => Promise<BackupScheduling>,
): Answers<Local, 'daemon', HandlerContext> => ({
  backups: {
    create: async ({ body: { passphrase } }) => {
      const { bytes, accountDatabase } = await backup(passphrase)
      return {
        type: 'application/octet-stream',
        body: bytes,
        headers: { 'account-database': accountDatabase },
      }
    },
  },
  backupSchedule: {
    set: async ({ body: { passphrase, ...plan } }) => (await scheduling()).set(plan, passphrase),
    read: async () => {
      const schedule = (await scheduling()).read()
      if (schedule === null) return { schedule }
      const { id, at, folder, keep, set_at, files } = schedule
      return { schedule: { id, at, folder, keep, set_at, files: [...files] } }
    },
    delete: async () => (await scheduling()).delete(),
    unlock: async () => ({ passphrase: (await scheduling()).passphrase() }),
    record: async ({ body }) => (await scheduling()).record(body),
  },
  signIn: {
    read: async (_, { home: { signIn } }) => signIn.read(),
    begin: async ({ body }, { home: { signIn } }) => signIn.begin(body.email),
    planReset: async ({ body }, { home: { signIn } }) => signIn.planReset(body),
    code: async ({ body }, { home: { signIn } }) => signIn.code(body),
    machine: async ({ body }, { home: { signIn } }) => signIn.machine(body),
    beginApproval: async (_, { home: { signIn } }) => signIn.beginApproval(),
    advanceApproval: async (_, { home: { signIn } }) => signIn.advanceApproval(),
    approve: async ({ body }, { home: { signIn } }) => signIn.approve(body.words),
    end: async ({ body }, { home: { signIn } }) => signIn.end(body),
  },
  recovery: {
    read: async (_, { account, local }) => {
      const { readRecoveryKey } = await import('../device/trust/recovery-key.ts')
      return readRecoveryKey(local, account)
    },
    create: async ({ body }, { account, local }) => {
      const { putRecoveryKey } = await import('../device/trust/recovery-key.ts')
      return putRecoveryKey(local, account, body)
    },
    dismiss: async (_, { local: { state } }) => {
      const set = setElsewhere(state)
      dismissSetKey(state)
      return { dismissed: set && sayWhoSet(set) }
    },
  },
  sealKey: {
    // Not part of an idempotent operation, because it may add two log entries, each with its own
    // request.
    renew: async (_, { home: { deviceSession }, local }) => {
      const { renewNow } = await import('../device/sync/seal-renewal.ts')
      const until = await renewNow(local, deviceSession.account())
      return { device_id: local.identity.device, old_key_until: timeAt(until) }
    },
  },
  publication: {
    read: async (_, { home: { backend, serving } }) => ({
      url: backend(),
      account_address: serving()?.accountAddress ?? null,
    }),
  },
  clock: {
    accept: async (_, { local }) => local.acceptClock(),
  },
  machines: {
    create: async ({ body }, { account }) => account.machines.create({ body }),
  },
})
