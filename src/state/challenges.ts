/**
 * The challenges that this device drew (protocol, section 2), including earlier ones that still
 * count.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'
import type { Moment } from './wrong-attempts.ts'

/** `ended`: a later challenge replaced it. `used`: words were tried, right or wrong. */
export type ChallengeState = 'open' | 'ended' | 'used'

export interface ChallengeRow {
  readonly id: string
  /** null: any connection of the account. */
  readonly connection: string | null
  /** The id of the API token that drew it; null for the command line. */
  readonly caller: string | null
  readonly state: ChallengeState
  /**
   * The uptime when it was drawn, in milliseconds, and the id of the boot that the uptime counts
   * from.
   */
  readonly uptime_ms: number
  readonly boot: string | null
  /** The index of its word; null unless it is open. */
  readonly word: number | null
  /** The normalised purpose, empty for none; null unless it is open. */
  readonly purpose: string | null
}

export type ChallengeRows = ReturnType<typeof challengeRows>

/** Returns the statements for the challenge rows. */
export function challengeRows(db: DatabaseSync) {
  const insert = statement(
    db,
    `insert into challenges (id, connection, caller, state, uptime_ms, boot, word, purpose)
     values (?, ?, ?, 'open', ?, ?, ?, ?)`,
  )
  const get = statement<ChallengeRow>(db, 'select * from challenges where id = ?')
  const all = statement<ChallengeRow>(db, 'select * from challenges')
  const close = statement(
    db,
    `update challenges set state = ?, word = null, purpose = null where id = ? and state = 'open'`,
  )
  const remove = statement(db, 'delete from challenges where id = ?')
  return {
    /** Stores an open challenge, drawn at this moment. */
    insert(
      {
        id,
        connection,
        caller,
        word,
        purpose,
      }: Pick<ChallengeRow, 'id' | 'connection' | 'caller' | 'word' | 'purpose'>,
      { uptimeMs, boot }: Moment,
    ): void {
      insert.run(id, connection, caller, Math.round(uptimeMs), boot, word, purpose)
    },
    get: (id: string): ChallengeRow | null => get.get(id),
    all: (): ChallengeRow[] => all.all(),
    /**
     * Closes an open challenge and deletes its word and purpose. A closed one stays unchanged.
     */
    close(id: string, state: Exclude<ChallengeState, 'open'>): void {
      close.run(state, id)
    },
    delete(id: string): void {
      remove.run(id)
    },
  }
}
