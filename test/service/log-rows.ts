/**
 * Inserts a verification log of thousands of entries into SQLite at once. Its length
 * and compression ratio are realistic.
 */
import { DatabaseSync } from 'node:sqlite'
import { timeAt } from '../../src/api/fields.ts'
import type { VerificationEntry } from '../../src/api/rest/verify.ts'
import { newId } from '../../src/crypto/encoding/id.ts'

/** Returns the entry of a check of words on one connection. `at`: Unix milliseconds */
export const logEntry = (at: number): VerificationEntry => ({
  id: newId('ver_', at),
  at: timeAt(at),
  method: 'local',
  outcome: 'verified',
  matches: [
    {
      kind: 'connection',
      connection_id: newId('con_', at),
      connection_name: 'Ada and Bob',
      member_id: newId('acc_', at),
      display_name: 'Bob',
      speaker: 'other',
      window: Math.floor(at / 60_000),
    },
  ] as unknown as VerificationEntry['matches'],
  caller: 'command line',
})

/** Inserts `count` entries into the log of an account, one minute apart, before `at`. */
export function fillLog(file: string, account: string, count: number, at: number): void {
  const database = new DatabaseSync(file)
  try {
    const insert = database.prepare(
      'insert into verifications (account_id, id, entry) values (?, ?, ?)',
    )
    database.exec('begin immediate')
    for (let i = 0; i < count; i++) {
      const entry = logEntry(at - (count - i) * 60_000)
      insert.run(account, entry.id, JSON.stringify(entry))
    }
    database.exec('commit')
  } finally {
    database.close()
  }
}
