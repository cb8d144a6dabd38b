/**
 * The services that all groups of answers share. They keep no account data in memory, so several
 * replicas can use one database.
 */
import type { Kysely } from 'kysely'
import type { AssistantConfig } from '../config/assistant.ts'
import type { MailedCodes } from '../config/config.ts'
import type { Retention } from '../config/retention.ts'
import type { Background } from './db/background.ts'
import type { PageLimits } from './db/log-pages.ts'
import type { Events } from './events.ts'
import type { Mail } from './mail/mailer.ts'
import type { ReceiptKey } from './db/server-secrets.ts'
import type { Schema } from './db/schema.ts'
import type { SeenOnce } from './db/seen-once.ts'
import type { LastSeen } from './db/last-seen.ts'

export interface ServiceContext {
  readonly db: Kysely<Schema>
  readonly receiptKey: () => Promise<ReceiptKey>
  readonly mail: Mail
  readonly events: Events
  /** The operator's mail address, which is also the sender of letters. */
  readonly operator: string
  readonly mailedCodes: MailedCodes
  readonly retention: Retention
  /** The assistant that answers questions; null if the handbook answers them. */
  readonly assistant: AssistantConfig | null
  readonly background: Background
  /** How much of a key log or a roster one answer may contain. */
  readonly logPages: PageLimits
  readonly seenOnce: SeenOnce
  readonly lastSeen: LastSeen
  /** Whether `with` queries of the database may write. */
  readonly writesInWith: boolean
  /**
   * Erases deleted rows from the database file, and deletes the letters to these mailboxes. The
   * mailboxes are in lower case. `isLast`: no account is left on this server. All letters are then
   * deleted, if only this server writes to their folder.
   */
  readonly scrub: (of: { mailboxes: readonly string[]; isLast: boolean }) => Promise<void>
  /**
   * Returns the base URL of links, without a final slash. Call it only after the server listens.
   */
  readonly publicUrl: () => string
  /** Whether the server is about to stop, so that it should get no further requests. */
  readonly isDraining: () => boolean
  /** Aborted when the server shuts down. */
  readonly signal: AbortSignal
  readonly version: string
  /** When the server was opened, Unix milliseconds. */
  readonly started: number
  /** Returns the time in Unix milliseconds. */
  readonly now: () => number
}
