/** What every group of answers stands on. Nothing here is state: several replicas may answer for one database. */
import type { Kysely } from 'kysely'
import type { Background } from './background.ts'
import type { Mail } from './mail/mail.ts'
import type { ReceiptKey } from './receipt-key.ts'
import type { Schema } from './schema.ts'
import type { SeenOnce } from './seen-once.ts'

export interface Ground {
  readonly db: Kysely<Schema>
  readonly receiptKey: () => Promise<ReceiptKey>
  readonly mail: Mail
  readonly background: Background
  readonly seenOnce: SeenOnce
  /** What links begin with, without a slash. Known only once the server listens. */
  readonly publicUrl: () => string
  readonly version: string
  /** When the server was opened, Unix milliseconds. */
  readonly started: number
  /** Unix milliseconds. */
  readonly now: () => number
}
