/**
 * The connections for which this device can check words, and the times of their epochs. The names
 * are the local names, which this device stored when it accepted an account.
 */
import type { DatabaseSync } from 'node:sqlite'
import { comparableName } from '../crypto/encoding/display-names.ts'
import { statement, transaction } from '../storage/sqlite.ts'
import type { Append } from './events.ts'

export interface NamedMember {
  readonly user_id: string
  readonly display_name: string
}

/** Why no words of a known connection verify (protocol, section 4). */
export type Hold = 'rotation_pending' | 'roster_forked' | 'ended'

export interface ConnectionRow {
  readonly id: string
  readonly name: string
  /** 0 if the connection was refused when this device first listed it. */
  readonly epoch: number
  /** Hash of the roster entry that opened the epoch. */
  readonly head: Uint8Array
  readonly members: readonly NamedMember[]
  readonly hold: Hold | null
  readonly updated_at: number
}

/** Whether the words of a connection may verify. */
type Standing = Pick<ConnectionRow, 'id' | 'epoch' | 'hold'>

const COLUMNS = 'id, name, epoch, head, members, hold, updated_at'

/** Checks whether this device has stored an epoch of a connection. */
export const hasEpoch = <Row extends Pick<ConnectionRow, 'epoch'>>(row: Row | null): row is Row =>
  row !== null && row.epoch > 0

/** Checks whether words of a connection verify if its secret is here. */
const isLive = (row: ConnectionRow | null): boolean => hasEpoch(row) && row.hold === null

/**
 * Returns the statements for the connection rows.
 * @param nameOf returns the name that this device shows for an account
 */
export function connectionRows(
  db: DatabaseSync,
  append: Append,
  nameOf: (account: string, otherwise: string) => string,
) {
  type Stored = Omit<ConnectionRow, 'members'> & { readonly members: string }
  const parsed = (row: Stored): ConnectionRow => ({
    ...row,
    members: JSON.parse(row.members) as NamedMember[],
  })
  const put = statement(
    db,
    `insert into connections (id, name, comparable, epoch, head, members, hold, updated_at)
       values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set name = excluded.name, comparable = excluded.comparable,
       epoch = excluded.epoch, head = excluded.head, members = excluded.members,
       hold = excluded.hold, updated_at = excluded.updated_at`,
  )
  const removeMembers = statement(db, 'delete from connection_members where connection = ?')
  const addMember = statement(
    db,
    'insert into connection_members (connection, account) values (?, ?) on conflict do nothing',
  )
  const get = statement<Stored>(db, `select ${COLUMNS} from connections where id = ?`)
  const standings = statement<Standing>(
    db,
    'select id, epoch, hold from connections where id in (select value from json_each(?))',
  )
  const all = statement<Stored>(db, `select ${COLUMNS} from connections order by id desc`)
  const ids = statement<{ id: string }>(db, 'select id from connections')
  const pending = statement<{ id: string }>(
    db,
    `select id from connections where hold = 'rotation_pending'`,
  )
  const forked = statement<{ id: string; name: string }>(
    db,
    `select id, name from connections where hold = 'roster_forked' order by id desc`,
  )
  const hold = statement<{ id: string; name: string }>(
    db,
    'update connections set hold = ? where hold is null returning id, name',
  )
  const secret = statement(db, 'select 1 from secrets where id = ?')
  const withMember = statement<{ connection: string }>(
    db,
    'select connection from connection_members where account = ?',
  )
  const page = statement<{ id: string }>(
    db,
    'select id from connections where id > ? order by id limit ?',
  )
  const count = statement<{ n: number }>(db, 'select count(*) as n from connections')
  const remove = statement<{ name: string }>(
    db,
    'delete from connections where id = ? returning name',
  )

  function read(id: string): ConnectionRow | null {
    const row = get.get(id)
    return row && parsed(row)
  }

  /** Appends the events for the members who are in one row and not in the other. */
  function reportMembers(before: ConnectionRow, after: ConnectionRow): void {
    const report = (
      type: 'member.joined' | 'member.left',
      row: ConnectionRow,
      other: typeof row,
    ) => {
      for (const { user_id, display_name } of row.members)
        if (other.members.every((one) => one.user_id !== user_id))
          append(type, {
            connection_id: after.id,
            connection_name: after.name,
            user_id,
            display_name: nameOf(user_id, display_name),
          })
    }
    report('member.joined', after, before)
    report('member.left', before, after)
  }

  /** Appends the events for what differs between two rows of a connection. */
  function report(before: ConnectionRow | null, after: ConnectionRow): void {
    const of = { connection_id: after.id, name: after.name }
    if (before === null) append('connection.added', of)
    else if (before.name !== after.name)
      append('connection.renamed', { ...of, previous_name: before.name })
    // A connection that was refused when it was first seen has no members.
    if (hasEpoch(before)) {
      if (before.epoch !== after.epoch) append('connection.rekeyed', { ...of, epoch: after.epoch })
      reportMembers(before, after)
    }
    if (after.hold !== (before?.hold ?? null))
      if (after.hold === null) append('connection.resumed', of)
      else append('connection.suspended', { ...of, reason: after.hold })
    if (isLive(after) && !isLive(before) && secret.get(after.id) !== null)
      append('connection.ready', of)
  }

  return {
    /** Stores or replaces a connection. */
    put(row: ConnectionRow): void {
      const { id, name, epoch, head, hold, updated_at } = row
      const members = JSON.stringify(row.members)
      transaction(db, () => {
        const before = read(id)
        put.run(id, name, comparableName(name), epoch, head, members, hold, updated_at)
        removeMembers.run(id)
        for (const { user_id } of row.members) addMember.run(id, user_id)
        report(before, row)
      })
    },
    /** Appends the event for a secret that was stored, if a connection was without it. */
    secretAdded: (id: string): void => {
      const row = read(id)
      if (row !== null && isLive(row))
        append('connection.ready', { connection_id: id, name: row.name })
    },
    get: read,
    /** Returns the standings, by id, of those of the given connections that are stored here. */
    standings: (among: readonly string[]): ReadonlyMap<string, Standing> =>
      new Map(standings.all(JSON.stringify(among)).map((row) => [row.id, row])),
    /** Returns every connection, newest first. */
    all: (): ConnectionRow[] => all.all().map(parsed),
    ids: (): string[] => ids.all().map(({ id }) => id),
    /** Returns the ids of the connections that need a new secret. */
    pending: (): string[] => pending.all().map(({ id }) => id),
    /** Returns the ids and names of the connections with two histories, newest first. */
    forked: (): { id: string; name: string }[] => forked.all(),
    /**
     * Suspends all connections that are not yet suspended. Returns the ids of those it suspended.
     */
    holdAll: (why: Hold): string[] =>
      transaction(db, () =>
        hold.all(why).map(({ id, name }) => {
          append('connection.suspended', { connection_id: id, name, reason: why })
          return id
        }),
      ),
    /** Returns the ids of the connections that an account is a member of. */
    withMember: (account: string): string[] =>
      withMember.all(account).map(({ connection }) => connection),
    /** Returns up to `limit` ids after the given one, oldest first; '' begins the first page. */
    page: (after: string, limit: number): string[] => page.all(after, limit).map(({ id }) => id),
    count: (): number => count.get()?.n ?? 0,
    /** Deletes a connection; returns whether it existed. */
    delete: (id: string): boolean =>
      transaction(db, () => {
        removeMembers.run(id)
        const gone = remove.get(id)
        if (gone !== null) append('connection.removed', { connection_id: id, name: gone.name })
        return gone !== null
      }),
  }
}

export interface EpochRow {
  readonly connection: string
  readonly epoch: number
  /** Unix milliseconds, by the clock of this device. */
  readonly seen_at: number
}

/** Returns the statements that store when this device first saw each connection's current epoch. */
export function epochRows(db: DatabaseSync) {
  const note = statement(
    db,
    `insert into epochs (connection, epoch, seen_at)
       select id, connections.epoch, ? from connections
       left join epochs on epochs.connection = id
       where epochs.epoch is not connections.epoch
     on conflict do update set epoch = excluded.epoch, seen_at = excluded.seen_at`,
  )
  const drop = statement(
    db,
    'delete from epochs where connection not in (select id from connections)',
  )
  const until = statement<EpochRow>(db, 'select * from epochs where seen_at <= ? order by seen_at')
  return {
    /** Stores `at` as the first-seen time of each epoch that is new since the last call. */
    note(at: number): void {
      note.run(at)
      drop.run()
    },
    /** Returns the epochs that were first seen at or before a time, oldest first. */
    seenUntil: (at: number): EpochRow[] => until.all(at),
  }
}

interface FormerEpochRow {
  readonly connection: string
  readonly epoch: number
  /** The ids of the accounts that were members in that epoch. */
  readonly speakers: readonly string[]
  /** When the epoch ended on this device, Unix milliseconds. */
  readonly kept_at: number
}

/** The shortest time between two writes of `looked_at`, in milliseconds. */
const LOOK_MS = 60_000

/**
 * Returns the statements for the epochs that ended by a routine rotation. The vault keeps the code
 * keys of these epochs for a while.
 */
export function formerEpochRows(db: DatabaseSync) {
  type Stored = Omit<FormerEpochRow, 'speakers'> & { readonly speakers: string }
  const put = statement(
    db,
    `insert into former_epochs (connection, epoch, speakers, kept_at, looked_at)
       values (?, ?, ?, ?, ?)
     on conflict do update set epoch = excluded.epoch, speakers = excluded.speakers,
       kept_at = excluded.kept_at, looked_at = excluded.looked_at`,
  )
  const get = statement<Stored>(
    db,
    'select connection, epoch, speakers, kept_at from former_epochs where connection = ?',
  )
  const all = statement<{ connection: string }>(
    db,
    'select connection from former_epochs order by connection',
  )
  const any = statement(db, 'select 1 from former_epochs limit 1')
  const over = statement<{ connection: string }>(
    db,
    `select connection from former_epochs left join connections on id = connection
     where kept_at <= ? or looked_at > ? or id is null
       or connections.epoch > former_epochs.epoch + 1`,
  )
  const advanceTo = statement(db, 'update former_epochs set looked_at = ? where looked_at < ?')
  const remove = statement(db, 'delete from former_epochs where connection = ?')
  const idsOf = (rows: readonly { connection: string }[]) => rows.map((row) => row.connection)
  return {
    /** Stores or replaces the previous epoch of a connection. */
    put({ connection, epoch, speakers, kept_at: at }: FormerEpochRow): void {
      put.run(connection, epoch, JSON.stringify(speakers), at, at)
    },
    get(connection: string): FormerEpochRow | null {
      const row = get.get(connection)
      return row && { ...row, speakers: JSON.parse(row.speakers) as string[] }
    },
    /** Returns the ids of the connections that have a previous epoch. */
    ids: (): string[] => idsOf(all.all()),
    /** Checks whether a connection has a previous epoch. */
    hasAny: (): boolean => any.get() !== null,
    /**
     * Returns the ids of the connections with a previous epoch that has expired or is not needed.
     *
     * A previous epoch expires in any of these cases: it ended at or before `keptUntil`; the clock
     * was read at a time after `lookedAfter`, so it was set back since; the connection no longer
     * exists; the connection's current epoch is more than one later.
     */
    over: (keptUntil: number, lookedAfter: number): string[] =>
      idsOf(over.all(keptUntil, lookedAfter)),
    /** Stores that the clock was read at `at`. Stored times never decrease. */
    advance(at: number): void {
      advanceTo.run(at, at - LOOK_MS)
    },
    delete(connection: string): void {
      remove.run(connection)
    },
  }
}
