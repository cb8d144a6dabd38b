/** The data of this device on disk, except secrets in the clear, behind one handle. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../log.ts'
import { approvalAttemptRows, wrongTryRows } from './attempts.ts'
import { challengeRows, replayRows, verificationRows } from './verifications.ts'
import { connectionRows, epochRows, formerEpochRows } from './connections.ts'
import { consentRows, firstContactRows, inviteRows, listedInvitationRows } from './invitations.ts'
import { openDatabase } from './database.ts'
import { removeLeftovers } from '../keychain/private-file.ts'
import { forkRows, replacementRows } from './forks.ts'
import { guestRows } from './guests.ts'
import { idempotencyRows } from '../storage/idempotency.ts'
import { logRows, sealKeyRows } from './logs.ts'
import { metaRows } from './meta.ts'
import { nameRows, profileRows } from './names.ts'
import { secretRows } from './secrets.ts'
import { transaction } from '../storage/sqlite.ts'
import { stampRows } from './stamps.ts'
import { tokenRows } from './tokens.ts'
import { trustRows } from './trust.ts'

/** Copies that a backup creates. SQLite keeps a journal beside one that it writes. */
const COPIED = ['state.db.copy', 'account.db.copy']

/**
 * Files written atomically beside the database; the last two are copies of an interrupted backup.
 */
const ATOMIC = ['keychain.json', 'keychain.key', 'runtime.json', 'secret', ...COPIED]

export type State = Readonly<ReturnType<typeof openState>>

/**
 * Opens the state of a folder that `openFolder` has checked. Only the lock owner may call it.
 * @param log logs a migration of the database
 * @throws as `openDatabase`
 */
export function openState(dir: string, log?: Log) {
  const db = openDatabase(dir, log)
  removeLeftovers(dir, ATOMIC)
  for (const name of COPIED) rmSync(join(dir, `${name}.tmp-journal`), { force: true })
  const names = nameRows(db)
  return {
    db,
    meta: metaRows(db),
    tokens: tokenRows(db),
    secrets: secretRows(db),
    connections: connectionRows(db),
    guests: guestRows(db),
    logs: logRows(db),
    sealKeys: sealKeyRows(db),
    epochs: epochRows(db),
    formerEpochs: formerEpochRows(db),
    forks: forkRows(db),
    replacements: replacementRows(db),
    invites: inviteRows(db),
    listedInvitations: listedInvitationRows(db),
    firstContacts: firstContactRows(db),
    consents: consentRows(db),
    names,
    profiles: profileRows(db, names),
    trust: trustRows(db),
    replays: replayRows(db),
    verifications: verificationRows(db),
    wrongTries: wrongTryRows(db),
    challenges: challengeRows(db),
    approvalAttempts: approvalAttemptRows(db),
    stamps: stampRows(db),
    idempotency: idempotencyRows(db),
    /** Runs a synchronous action in a transaction; calls nest. */
    transaction: <T>(action: () => T): T => transaction(db, action),
    /** Moves the content of the write-ahead log into the file. */
    checkpoint: (): void => db.exec('pragma wal_checkpoint(truncate)'),
    close: (): void => db.close(),
  }
}
