/** The contents of `state.db` that the checks need. A daemon may write to it at the same time. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SyncReport } from '../../api/rest/sync.ts'
import { copyWarning } from '../../device/identity/own-keys.ts'
import { type Facts, knownServer, readFacts } from '../../device/identity/identity.ts'
import { type Notice, noticesOf } from '../../device/sync/notices.ts'
import { logRows } from '../../state/logs.ts'
import { type BackupSchedule, readSchedule } from '../../state/backup-schedule.ts'
import { lastBackupAt } from '../../state/last-backup.ts'
import { metaRows } from '../../state/meta.ts'
import { replayRows } from '../../state/verifications.ts'
import { openReadOnly } from '../../storage/database-file.ts'

export interface Memory {
  /** Whether the database exists and could be read. */
  readonly readable: boolean
  readonly identity: Facts | null
  /** The account server to which the folder belongs; null if there is none. */
  readonly server: string | null
  /** The cached key log of the user's own account. */
  readonly keyLog: readonly string[]
  /** The warning that another copy of this device's keys is in use; null if no copy was found. */
  readonly copyWarning: string | null
  readonly lastSync: SyncReport | null
  readonly lastGoodSync: string | null
  readonly notices: readonly Notice[]
  /** The highest window in which words were used; 0 if none were. */
  readonly highestWindow: number
  readonly backupSchedule: BackupSchedule | null
  readonly lastBackup: string | null
}

const NOTHING: Memory = {
  readable: false,
  identity: null,
  server: null,
  keyLog: [],
  copyWarning: null,
  lastSync: null,
  lastGoodSync: null,
  notices: [],
  highestWindow: 0,
  backupSchedule: null,
  lastBackup: null,
}

/** Reads the data from a state folder. If no database can be read, returns empty values. */
export function memoryOf(stateDir: string | undefined): Memory {
  if (stateDir === undefined) return NOTHING
  const path = join(stateDir, 'state.db')
  if (!existsSync(path)) return NOTHING
  try {
    const db = openReadOnly(path)
    try {
      const meta = metaRows(db)
      const identity = readFacts({ meta })
      return {
        readable: true,
        identity,
        server: knownServer({ meta }),
        keyLog: identity === null ? [] : logRows(db).read('keylog', identity.account),
        copyWarning: copyWarning({ meta }),
        lastSync: meta.get('last_sync') as SyncReport | null,
        lastGoodSync: meta.get('last_good_sync') as string | null,
        notices: noticesOf({ meta }),
        highestWindow: replayRows(db).highest(),
        backupSchedule: readSchedule({ meta }),
        lastBackup: lastBackupAt({ meta }),
      }
    } finally {
      db.close()
    }
  } catch {
    // The check of the databases reports the fault of the file.
    return NOTHING
  }
}
