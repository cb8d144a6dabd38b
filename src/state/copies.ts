/** The last answers of the account server to reads. */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

/** The place of a copy: the row of the table of routes, and the input as JSON. */
export interface CopyPlace {
  /** The group and the name of the row, with a dot between them. */
  readonly route: string
  readonly input: string
}

export interface Copy extends CopyPlace {
  /** When the account server gave this answer last, Unix milliseconds. */
  readonly at: number
  /** The answer as JSON. */
  readonly answer: string
}

/** The maximum size of all copies together, in UTF-16 code units. The oldest are deleted first. */
const LARGEST = 32 * 1024 * 1024

/** What a row and its entries in two indexes need besides the texts, in bytes, rounded up. */
const ROW_SIZE = 100

/** Returns the size of a copy. The answer to a read without results is smaller than its input. */
const sizeOf = ({ route, input, answer }: Copy): number =>
  ROW_SIZE + 2 * (route.length + input.length) + answer.length

/** Returns the statements for the copies of answers. */
export function copyRows(db: DatabaseSync) {
  const get = statement<Copy>(
    db,
    'select route, input, at, answer from copies where route = ? and input = ?',
  )
  const put = statement(
    db,
    `insert into copies values (?, ?, ?, ?, ?)
     on conflict do update set at = excluded.at, size = excluded.size, answer = excluded.answer`,
  )
  const confirm = statement(db, 'update copies set at = ? where route = ? and input = ?')
  const total = statement<{ size: number }>(db, 'select coalesce(sum(size), 0) as size from copies')
  const oldest = statement<CopyPlace & { size: number }>(
    db,
    'select route, input, size from copies order by at limit 1',
  )
  const remove = statement(db, 'delete from copies where route = ? and input = ?')
  const drop = statement<CopyPlace & { at: number }>(
    db,
    'delete from copies where route = ? returning route, input, at',
  )
  const expire = statement(db, 'delete from copies where at < ?')
  const clear = statement(db, 'delete from copies')

  /** Deletes the oldest copies until the others are small enough. */
  function shrink(): void {
    let size = total.get()?.size ?? 0
    for (let last = oldest.get(); size > LARGEST && last !== null; last = oldest.get()) {
      remove.run(last.route, last.input)
      size -= last.size
    }
  }

  return {
    get: ({ route, input }: CopyPlace): Copy | null => get.get(route, input),
    /** Stores or replaces a copy, and deletes those from before a time, Unix milliseconds. */
    put: (copy: Copy, from: number): void =>
      transaction(db, () => {
        const { route, input, at, answer } = copy
        expire.run(from)
        put.run(route, input, at, sizeOf(copy), answer)
        shrink()
      }),
    /** Stores that the account server gave the same answer again. */
    confirm: ({ route, input }: CopyPlace, at: number): void => void confirm.run(at, route, input),
    /** Deletes the copies of a route and returns their places, and when each was current. */
    drop: (route: string): (CopyPlace & { readonly at: number })[] => drop.all(route),
    clear: (): void => void clear.run(),
  }
}
