/**
 * Which parts of the account a sync must read, from the account server's list of changes.
 *
 * The list is only a hint: an account server that omits a change is like one that shows old data.
 * So each part is read at least once a day, and at every sync that the user or the start of the
 * program causes. The place is kept in memory. A restored or copied folder has none.
 */
import { changedParts, type SyncPart } from '../../api/device/changes.ts'
import type { Account } from '../../api/port.ts'
import { AppError } from '../../errors.ts'

/** The longest time without reading all parts, in milliseconds. */
const WHOLE_MS = 24 * 3_600_000

/** The state of the account that this device has read. */
interface Place {
  /** Names the state at the account server. */
  readonly since: string
  /** The parts that have nothing left to do until the account server changes them. */
  readonly settled: ReadonlySet<SyncPart>
  /** When a sync last read all parts, Unix milliseconds. */
  readonly wholeAt: number
}

type Answer = Awaited<ReturnType<Account['changes']['read']>>

/** What one sync must read. */
export interface News {
  /** Returns whether the part must be read. If not, it counts as settled. */
  has(part: SyncPart): boolean
  /** Records that a part was read, and whether it has nothing left to do. */
  read(part: SyncPart, isSettled: boolean): void
}

export interface Places {
  /**
   * Asks the account server what changed since the last sync.
   * @returns null if the server is too old to answer
   * @throws AppError any other error from the account server
   */
  ask(account: Account): Promise<Answer | null>
  /** Begins a sync that reads what the answer names; everything if the answer is null. */
  begin(answer: Answer | null): News
  /** Keeps the place of the sync that has begun, because it succeeded. */
  keep(): void
  /** Drops the place, so that the next sync reads everything. */
  drop(): void
}

/** Creates the places of a device. `now` returns Unix milliseconds. */
export function newPlaces(now: () => number): Places {
  let place: Place | null = null
  let reached: Place | null = null
  /** When the account server was last found to be too old, Unix milliseconds; null if never. */
  let oldAt: number | null = null

  return {
    async ask(account) {
      if (place !== null && Math.abs(now() - place.wholeAt) >= WHOLE_MS) place = null
      if (oldAt !== null && Math.abs(now() - oldAt) < WHOLE_MS) return null
      try {
        return await account.changes.read(place === null ? {} : { since: place.since })
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'no_such_route')) throw error
        oldAt = now()
        return null
      }
    },
    begin(answer) {
      const before = answer === null ? null : place
      const settled = new Set<SyncPart>()
      const since = answer?.since ?? null
      const changed = answer === null ? null : changedParts(answer)
      reached = since === null ? null : { since, settled, wholeAt: before?.wholeAt ?? now() }
      return {
        has(part) {
          const isOld = before?.settled.has(part) === true && changed?.has(part) === false
          if (isOld) settled.add(part)
          return !isOld
        },
        read: (part, isSettled) => void (isSettled ? settled.add(part) : settled.delete(part)),
      }
    },
    keep: () => void (place = reached),
    drop: () => void (place = null),
  }
}
