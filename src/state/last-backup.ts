/** When the last complete backup of this device was captured. */
import type { MetaRows } from './meta.ts'

const KEY = 'last_backup_at'

/** Returns the time in the API's format; null if there was no backup. */
export const lastBackupAt = ({ meta }: { readonly meta: MetaRows }): string | null =>
  meta.get(KEY) as string | null

/**
 * Stores the time of a backup that was read to its end.
 * @param at in the API's format
 */
export const noteBackup = ({ meta }: { readonly meta: MetaRows }, at: string): void =>
  meta.set(KEY, at)
