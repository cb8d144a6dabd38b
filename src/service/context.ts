/**
 * The shared services of all groups of answers. They hold no state of accounts, so several
 * replicas can use one database.
 */
import type { Kysely } from 'kysely'
import type { AssistantConfig } from '../config/assistant.ts'
import type { Background } from './db/background.ts'
import type { PageLimits } from './db/log-pages.ts'
import type { Events } from './events.ts'
import type { Mail } from './mail/mailer.ts'
import type { ReceiptKey } from './db/server-secrets.ts'
import type { Schema } from './db/schema.ts'
import type { SeenOnce } from './db/seen-once.ts'

export interface ServiceContext {
  readonly db: Kysely<Schema>
  readonly receiptKey: () => Promise<ReceiptKey>
  readonly mail: Mail
  readonly events: Events
  /** The operator's address, which is also the sender's. */
  readonly operator: string
  /** The assistant that gets the questions; null if the handbook answers. */
  readonly assistant: AssistantConfig | null
  readonly background: Background
  /** The limits of one answer for a key log or a roster. */
  readonly logPages: PageLimits
  readonly seenOnce: SeenOnce
  /**
   * Removes the content of deleted rows, and the letters to these mailboxes (in lower case). With
   * `isLast` no account is left on this server: it deletes all letters, if it alone writes to the
   * folder.
   */
  readonly scrub: (of: { mailboxes: readonly string[]; isLast: boolean }) => Promise<void>
  /** Returns the base URL of links, without a slash. Available once the server listens. */
  readonly publicUrl: () => string
  readonly version: string
  /** When the server was opened, Unix milliseconds. */
  readonly started: number
  /** Unix milliseconds. */
  readonly now: () => number
}
