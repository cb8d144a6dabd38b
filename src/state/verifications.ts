/** Verifications: the verification log, the used words, and this device's challenges. */
import type { DatabaseSync } from 'node:sqlite'
import type { LoggedMatch, VerificationEntry } from '../api/rest/verify.ts'
import { METRICS } from '../metrics/catalogue.ts'
import { statement, transaction } from '../storage/sqlite.ts'
import type { Moment } from './attempts.ts'
import type { Append } from './events.ts'

/** Sorts after every id. */
const AFTER_ALL = '~'

/** Returns the part of a match that an event contains. */
const reported = ({
  kind,
  speaker,
  connection_id,
  connection_name,
  guest_code_id,
  member_id,
  user_id,
  display_name,
}: LoggedMatch) => {
  const subject = { connection_id, connection_name, guest_code_id }
  return { kind, speaker, ...subject, member_id, user_id, display_name }
}

/**
 * Returns the statements for the verification log, including entries not yet uploaded.
 *
 * The log does not contain the words.
 */
export function verificationRows(db: DatabaseSync, append: Append) {
  type Stored = Omit<VerificationEntry, 'matches'> & { readonly matches: string }
  const parsed = (row: Stored): VerificationEntry => ({
    ...row,
    matches: JSON.parse(row.matches) as VerificationEntry['matches'],
  })
  const columns = 'id, at, method, outcome, matches, caller'
  const insert = statement(
    db,
    `insert into verifications (${columns}, pushed) values (?, ?, ?, ?, ?, ?, 0)`,
  )
  const page = statement<Stored>(
    db,
    `select ${columns} from verifications where id >= ? and id < ? order by id desc limit ?`,
  )
  const unpushed = statement<Stored>(
    db,
    `select ${columns} from verifications where pushed = 0 order by id limit ?`,
  )
  const countUnpushed = statement<{ n: number }>(
    db,
    'select count(*) as n from verifications where pushed = 0',
  )
  const mark = statement(db, 'update verifications set pushed = 1 where id = ?')
  const trim = statement(
    db,
    `delete from verifications where id in
       (select id from verifications where pushed = 1 and id < ? order by id limit ?)`,
  )
  return {
    insert(row: VerificationEntry): void {
      const { id, at, method, outcome, caller } = row
      METRICS.verifications.add({ method, outcome })
      transaction(db, () => {
        insert.run(id, at, method, outcome, JSON.stringify(row.matches), caller)
        const matches = row.matches.map(reported)
        append('verification.made', { verification_id: id, outcome, method, caller, matches })
      })
    },
    /**
     * Returns entries, newest first. Their ids are at least `fromId` and below `beforeId`; null
     * means no upper bound.
     */
    page: (limit: number, beforeId: string | null, fromId = ''): VerificationEntry[] =>
      page.all(fromId, beforeId ?? AFTER_ALL, limit).map(parsed),
    /** Returns the entries that the server does not have yet, oldest first. */
    unpushed: (limit: number): VerificationEntry[] => unpushed.all(limit).map(parsed),
    countUnpushed: (): number => countUnpushed.get()?.n ?? 0,
    /**
     * Deletes the oldest entries with ids below `beforeId` that the server has, at most `limit`.
     * Returns how many were deleted.
     */
    trim: (beforeId: string, limit: number): number => trim.run(beforeId, limit),
    /** Marks entries as stored by the server, in one transaction. */
    markPushed(ids: Iterable<string>): void {
      transaction(db, () => {
        for (const id of ids) mark.run(id)
      })
    },
  }
}

interface ReplayKey {
  /** The id of a connection or guest code. */
  readonly subject: string
  readonly epoch: number
  readonly speaker: string
  readonly window: number
}

/**
 * Returns the statements for the words that verified once, and for the highest window recorded. A
 * code is accepted only once.
 * @see RFC 6238 section 5.2
 */
export function replayRows(db: DatabaseSync) {
  const first = statement<{ first_at: number }>(
    db,
    `select first_at from replays
     where subject = ? and epoch = ? and speaker = ? and "window" = ?`,
  )
  const insert = statement(
    db,
    'insert into replays (subject, epoch, speaker, "window", first_at) values (?, ?, ?, ?, ?)',
  )
  const raise = statement(
    db,
    `insert into replays_highest values (1, ?)
     on conflict do update set "window" = max("window", excluded."window")`,
  )
  const highest = statement<{ window: number }>(db, 'select "window" from replays_highest')
  const prune = statement(db, 'delete from replays where "window" < ?')
  return {
    /**
     * Records the first use of a code and returns null. If the code was used before, returns the
     * time of its first use. The record is on disk before this returns.
     */
    firstUse: (key: ReplayKey, at: number): number | null =>
      transaction(db, () => {
        const { subject, epoch, speaker, window } = key
        const known = first.get(subject, epoch, speaker, window)
        if (known !== null) return known.first_at
        insert.run(subject, epoch, speaker, window, at)
        raise.run(window)
        return null
      }),
    /** Returns the highest window ever recorded, 0 if none. Pruning does not lower it. */
    highest: (): number => highest.get()?.window ?? 0,
    /** Deletes the uses in windows below `belowWindow`. Returns how many. */
    prune: (belowWindow: number): number => prune.run(belowWindow),
  }
}

/**
 * `ended`: a later challenge replaced it. `used`: an attempt was made with its words, right or
 * wrong.
 */
type ChallengeState = 'open' | 'ended' | 'used'

export interface ChallengeRow {
  readonly id: string
  /** The connection that the challenge is for; null for any connection of the account. */
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
  /** The index of the challenge's word; null unless the challenge is open. */
  readonly word: number | null
  /** The normalised purpose, empty if there is none; null unless the challenge is open. */
  readonly purpose: string | null
}

/**
 * Returns the statements for the challenges that this device drew (protocol, section 2).
 *
 * They include earlier challenges that still count against the limit.
 */
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
    /** Stores an open challenge that was drawn at the given moment. */
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
     * Closes an open challenge and deletes its word and purpose. Does nothing if it is already
     * closed.
     */
    close(id: string, state: Exclude<ChallengeState, 'open'>): void {
      close.run(state, id)
    },
    delete(id: string): void {
      remove.run(id)
    },
  }
}
