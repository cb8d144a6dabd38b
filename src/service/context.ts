/** What every group of answers stands on. Nothing here is state: several replicas may answer for one database. */
import type { Kysely } from 'kysely'
import type { AssistantConfig } from '../config/assistant.ts'
import type { Background } from './db/background.ts'
import type { PageLimits } from './db/log-pages.ts'
import type { Events } from './events.ts'
import type { Mail } from './mail/mailer.ts'
import type { ReceiptKey } from './db/receipt-key.ts'
import type { Schema } from './db/schema.ts'
import type { SeenOnce } from './db/seen-once.ts'

export interface Ground {
  readonly db: Kysely<Schema>
  readonly receiptKey: () => Promise<ReceiptKey>
  readonly mail: Mail
  readonly events: Events
  /** The operator's address, which is also the sender's. */
  readonly operator: string
  /** Whom questions are passed on to; null means that the handbook answers. */
  readonly assistant: AssistantConfig | null
  readonly background: Background
  /** What one answer holds of a key log or a roster. */
  readonly logPages: PageLimits
  readonly seenOnce: SeenOnce
  /**
   * Leave nothing readable of rows that were deleted, and no letter to these mailboxes (in lower case). With `isLast` nobody is left
   * at this server: no letter stays in a folder that only it writes to.
   */
  readonly scrub: (of: { mailboxes: readonly string[]; isLast: boolean }) => Promise<void>
  /** What links begin with, without a slash. Known only once the server listens. */
  readonly publicUrl: () => string
  readonly version: string
  /** When the server was opened, Unix milliseconds. */
  readonly started: number
  /** Unix milliseconds. */
  readonly now: () => number
}
