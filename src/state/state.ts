/** The data of this device on disk, except secrets in the clear, behind one handle. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Log } from '../log.ts'
import { approvalAttemptRows } from './approval-attempts.ts'
import type { ApprovalAttemptRows } from './approval-attempts.ts'
import { challengeRows } from './challenges.ts'
import type { ChallengeRows } from './challenges.ts'
import { connectionRows } from './connections.ts'
import type { ConnectionRows } from './connections.ts'
import { consentRows } from './consents.ts'
import type { ConsentRows } from './consents.ts'
import { openDatabase } from './database.ts'
import { firstContactRows } from './first-contacts.ts'
import type { FirstContactRows } from './first-contacts.ts'
import { removeLeftovers } from '../storage/folder.ts'
import { epochRows } from './epochs.ts'
import type { EpochRows } from './epochs.ts'
import { formerEpochRows } from './former-epochs.ts'
import type { FormerEpochRows } from './former-epochs.ts'
import { forkRows } from './forks.ts'
import type { ForkRows } from './forks.ts'
import { guestRows } from './guests.ts'
import type { GuestRows } from './guests.ts'
import { idempotencyRows } from '../storage/idempotency.ts'
import type { IdempotencyRows } from '../storage/idempotency.ts'
import { inviteRows } from './invites.ts'
import type { InviteRows } from './invites.ts'
import { listedInvitationRows } from './listed-invitations.ts'
import type { ListedInvitationRows } from './listed-invitations.ts'
import { logRows } from './logs.ts'
import type { LogRows } from './logs.ts'
import { metaRows } from './meta.ts'
import type { MetaRows } from './meta.ts'
import { nameRows } from './names.ts'
import type { NameRows } from './names.ts'
import { profileRows } from './profiles.ts'
import type { ProfileRows } from './profiles.ts'
import { replacementRows } from './replacements.ts'
import type { ReplacementRows } from './replacements.ts'
import { replayRows } from './replays.ts'
import type { ReplayRows } from './replays.ts'
import { sealKeyRows } from './seal-keys.ts'
import type { SealKeyRows } from './seal-keys.ts'
import { secretRows } from './secrets.ts'
import type { SecretRows } from './secrets.ts'
import { transaction } from '../storage/sqlite.ts'
import { stampRows } from './stamps.ts'
import type { StampRows } from './stamps.ts'
import { tokenRows } from './tokens.ts'
import type { TokenRows } from './tokens.ts'
import { trustRows } from './trust.ts'
import type { TrustRows } from './trust.ts'
import { verificationRows } from './verifications.ts'
import type { VerificationRows } from './verifications.ts'
import { wrongTryRows } from './wrong-attempts.ts'
import type { WrongTryRows } from './wrong-attempts.ts'

/** Copies that a backup creates. SQLite keeps a journal beside one that it writes. */
const COPIED = ['state.db.copy', 'account.db.copy']

/**
 * Files written atomically beside the database; the last two are copies of an interrupted backup.
 */
const ATOMIC = ['keychain.json', 'keychain.key', 'runtime.json', 'secret', ...COPIED]

export interface State {
  readonly db: DatabaseSync
  readonly meta: MetaRows
  readonly tokens: TokenRows
  readonly secrets: SecretRows
  readonly connections: ConnectionRows
  readonly guests: GuestRows
  readonly logs: LogRows
  readonly sealKeys: SealKeyRows
  readonly epochs: EpochRows
  readonly formerEpochs: FormerEpochRows
  readonly forks: ForkRows
  readonly replacements: ReplacementRows
  readonly invites: InviteRows
  readonly listedInvitations: ListedInvitationRows
  readonly firstContacts: FirstContactRows
  readonly consents: ConsentRows
  readonly names: NameRows
  readonly profiles: ProfileRows
  readonly trust: TrustRows
  readonly replays: ReplayRows
  readonly verifications: VerificationRows
  readonly wrongTries: WrongTryRows
  readonly challenges: ChallengeRows
  readonly approvalAttempts: ApprovalAttemptRows
  readonly stamps: StampRows
  readonly idempotency: IdempotencyRows
  /** Runs a synchronous action in a transaction; calls nest. */
  transaction<T>(action: () => T): T
  /** Moves the content of the write-ahead log into the file. */
  checkpoint(): void
  close(): void
}

/**
 * Opens the state of a folder that `openFolder` has checked. Only the lock owner may call it.
 * @param log logs a migration of the database
 * @throws as `openDatabase`
 */
export function openState(dir: string, log?: Log): State {
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
    transaction: (action) => transaction(db, action),
    checkpoint: () => db.exec('pragma wal_checkpoint(truncate)'),
    close: () => db.close(),
  }
}
