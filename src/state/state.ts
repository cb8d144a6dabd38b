/** This device's data on disk, behind one handle. Secrets are stored only encrypted. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../log.ts'
import { approvalAttemptRows, wrongTryRows } from './attempts.ts'
import { challengeRows, replayRows, verificationRows } from './verifications.ts'
import { connectionRows, epochRows, formerEpochRows } from './connections.ts'
import { copyRows } from './copies.ts'
import { consentRows, firstContactRows, inviteRows, listedInvitationRows } from './invitations.ts'
import { openDatabase } from './database.ts'
import { changeCount } from './derived.ts'
import { eventRows } from './events.ts'
import { removeLeftovers } from '../keychain/private-file.ts'
import { forkRows, replacementRows } from './forks.ts'
import { newGroupCommit } from '../storage/group-commit.ts'
import { guestRows } from './guests.ts'
import { idempotencyRows } from '../storage/idempotency.ts'
import { listedRows } from './listed.ts'
import { logRows, sealKeyRows } from './logs.ts'
import { metaRows } from './meta.ts'
import { nameRows, profileRows, shownName } from './names.ts'
import { secretRows } from './secrets.ts'
import { transaction } from '../storage/sqlite.ts'
import { stampRows } from './stamps.ts'
import { tokenRows } from './tokens.ts'
import { trustRows } from './trust.ts'

/** Copies that a backup creates. While SQLite writes one, it keeps a journal file beside it. */
const COPIED = ['state.db.copy', 'account.db.copy']

/**
 * Files written atomically beside the database. The last two are left over by an interrupted
 * backup.
 */
const ATOMIC = ['keychain.json', 'keychain.key', 'runtime.json', 'secret', ...COPIED]

export type State = Readonly<ReturnType<typeof openState>>

/**
 * Opens the state of a folder that `openFolder` has checked. The caller must own the lock.
 * @param log logs a migration of the database
 * @param now returns Unix milliseconds
 * @throws like `openDatabase`
 */
export function openState(dir: string, log?: Log, now: () => number = Date.now) {
  const db = openDatabase(dir, log)
  removeLeftovers(dir, ATOMIC)
  for (const name of COPIED) rmSync(join(dir, `${name}.tmp-journal`), { force: true })
  const names = nameRows(db)
  const events = eventRows(db, now)
  const { append } = events
  const nameOf = (account: string, otherwise = account): string =>
    shownName({ names, trust }, account, otherwise).display_name
  const trust = trustRows(db, append, nameOf)
  const connections = connectionRows(db, append, nameOf)
  return {
    db,
    events,
    meta: metaRows(db),
    tokens: tokenRows(db, append),
    secrets: secretRows(db, connections.secretAdded),
    connections,
    guests: guestRows(db, append),
    logs: logRows(db),
    sealKeys: sealKeyRows(db),
    epochs: epochRows(db),
    formerEpochs: formerEpochRows(db),
    forks: forkRows(db),
    replacements: replacementRows(db),
    invites: inviteRows(db),
    listedInvitations: listedInvitationRows(db),
    listed: listedRows(db),
    copies: copyRows(db),
    firstContacts: firstContactRows(db, append),
    consents: consentRows(db),
    names,
    profiles: profileRows(db, names),
    trust,
    replays: replayRows(db),
    verifications: verificationRows(db, append),
    wrongTries: wrongTryRows(db),
    challenges: challengeRows(db),
    approvalAttempts: approvalAttemptRows(db),
    stamps: stampRows(db, append),
    idempotency: idempotencyRows(db),
    /** Returns whether there is a webhook. Its module is loaded only then. */
    hasWebhooks: (): boolean => db.prepare('select 1 from webhooks limit 1').get() !== undefined,
    /** Returns the number of changes so far; see `derived`. */
    changes: changeCount(db),
    /** Runs a synchronous action in a transaction. Calls can be nested. */
    transaction: <T>(action: () => T): T => transaction(db, action),
    /** Runs a synchronous action in a transaction that is shared with other requests. */
    groupCommit: newGroupCommit(db),
    /** Writes the content of the write-ahead log into the database file. */
    checkpoint: (): void => db.exec('pragma wal_checkpoint(truncate)'),
    close: (): void => db.close(),
  }
}
