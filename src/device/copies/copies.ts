/**
 * Copies of the account server's answers, from which reads are answered while the server is away.
 *
 * A copy is the raw answer. Handlers add names, words and the state of keys from this device's own
 * data, as they do to an answer of the server. Only rows with `copied` have copies, and only reads
 * use them: no write and no sync does.
 */
import * as v from 'valibot'
import { signedIn } from '../../api/device/index.ts'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import { rest } from '../../api/rest/index.ts'
import type { Route } from '../../api/route.ts'
import { type ByRow, mapRows, rowsOf } from '../../api/rows.ts'
import { AppError, toAppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Copy, CopyPlace } from '../../state/copies.ts'
import type { State } from '../../state/state.ts'
import { fromWhole, type ReadInput } from './whole-lists.ts'

/** How long a copy may be used after the account server gave it last, in milliseconds. */
const LONGEST_MS = 30 * 24 * 3_600_000
/** How old the stored time of an unchanged copy may become, in milliseconds. */
const CONFIRMED_MS = 15 * 60_000
/** How old a copy may become until `fill` reads it again, in milliseconds. */
const FILLED_MS = 7 * 24 * 3_600_000
/** How many copies a write renews at most, the most recent ones. */
const MOST_RENEWED = 8
/** The size of an answer, in UTF-16 code units, above which there is no copy. */
const LARGEST_ANSWER = 8 * 1024 * 1024
/** How many times of unchanged copies are in memory at most. */
const MOST_CONFIRMED = 1_000
/** The maximum number of items in one page of a list. */
const MOST_ITEMS = 200

/** The rows that answer like another row with an input. */
const SAME: Readonly<Record<string, { readonly route: string; readonly input: ReadInput }>> = {
  'invitations.pending': { route: 'invitations.list', input: { state: 'pending' } },
}

/** The error for a read that this device has no copy of, while the account server is away. */
export class NoCopy extends AppError {}

/**
 * Returns what a request returns. Without a copy of its answer, uses what this device stores
 * itself.
 * @param stored returns null if this device stores nothing
 * @throws what the request throws
 */
export async function orStored<T>(request: Promise<T>, stored: () => T | null): Promise<T> {
  try {
    return await request
  } catch (error) {
    const own = error instanceof NoCopy ? stored() : null
    if (own === null) throw error
    return own
  }
}

/** The copies as an account that answers reads. */
export interface CopiedAccount {
  readonly account: Account
  /** Returns the time of the oldest copy that was read, Unix milliseconds; null if none was. */
  readonly asOf: () => number | null
}

export interface Copies {
  /**
   * Begins a read of a row that has copies. Returns a function that stores the answer, unless a
   * write came in between.
   */
  begin(group: string, name: string): ((input: ReadInput, answer: unknown) => void) | null
  /** Returns the copies as an account. `since`: when the server became unreachable. */
  read(since: number): CopiedAccount
  /**
   * Runs a write. If it succeeds, deletes the copies of these groups, and reads the most recent of
   * them again.
   */
  during<T>(groups: readonly string[], account: () => Account, write: () => Promise<T>): Promise<T>
  /**
   * Reads each list and each other answer without an id of which there is no recent copy, so that
   * the copies do not depend on what the user has read.
   */
  fill(account: Account): Promise<void>
  /** Deletes all copies, because the account server no longer accepts this device. */
  clear(): void
  /** Resolves when all copies are renewed that a write deleted. */
  idle(): Promise<void>
}

/** Calls an account by group and name. */
const callsOf = (account: Account) =>
  account as unknown as ByRow<(input: ReadInput) => Promise<unknown>>

const rows: ByRow<Route> = { ...rest, ...signedIn }
const isCopied = (group: string, name: string): boolean => rows[group]?.[name]?.copied === true

/** The rows with one copy each, or with one of their first page. */
const FILLED = rowsOf(rest).filter(
  ({ group, name, route }) =>
    route.copied === true && !route.path.includes('{') && SAME[`${group}.${name}`] === undefined,
)

/** Returns an input as JSON, the same for the same members in any order. */
const keyOf = (input: ReadInput): string =>
  JSON.stringify(
    Object.entries(input)
      .filter(([, value]) => value !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

/**
 * Returns the answer in a copy; null if it does not have the form that its row requires, because
 * another version of this program stored it.
 */
function valueIn({ route, answer }: Copy): ReadInput | null {
  const [group = '', name = ''] = route.split('.')
  const reply = rows[group]?.[name]?.reply
  const value = JSON.parse(answer) as ReadInput
  return reply !== undefined && v.is(reply, value) ? value : null
}

const inputIn = (key: string): ReadInput =>
  Object.fromEntries(JSON.parse(key) as [string, unknown][])

function withoutPage(input: ReadInput): ReadInput {
  const { limit: _limit, cursor: _cursor, ...rest } = input
  return rest
}

/** Returns the limit with which a list is most likely whole; nothing if the row has no pages. */
function pageOfAll(group: string, name: string): ReadInput {
  const { entries = {} } = (rows[group]?.[name]?.query ?? {}) as { entries?: object }
  return 'limit' in entries ? { limit: MOST_ITEMS } : {}
}

/** Returns the input under which an answer is stored. A list that ends needs no limit. */
function storedInput(input: ReadInput, answer: object): ReadInput {
  const isWhole =
    input['cursor'] === undefined && 'next_cursor' in answer && answer.next_cursor === null
  return isWhole ? withoutPage(input) : input
}

/**
 * Creates the copies of a device.
 * @param of `server`: the origin of the account server; `now`: Unix milliseconds
 */
export function newCopies(of: {
  state: Pick<State, 'copies'>
  server: string
  now: () => number
  log: Log
}): Copies {
  const { server, now, log } = of
  const stored = of.state.copies
  /** When each unchanged copy was given last, Unix milliseconds, by its route and input. */
  const confirmed = new Map<string, number>()
  /** How many writes have begun and ended. */
  let writes = 0
  const renewals = new Set<Promise<void>>()
  /** The routes that `fill` does not read, because the account server rejected them. */
  const rejected = new Set<string>()
  /** The routes with copies that could not be deleted after a write. */
  const outdated = new Set<string>()
  const idIn = ({ route, input }: CopyPlace) => `${route} ${input}`

  function keep(place: CopyPlace, answer: string): void {
    const at = now()
    const before = stored.get(place)
    if (confirmed.size > MOST_CONFIRMED) confirmed.clear()
    confirmed.set(idIn(place), at)
    if (before?.answer !== answer) stored.put({ ...place, at, answer }, at - LONGEST_MS)
    else if (Math.abs(at - before.at) > CONFIRMED_MS) stored.confirm(place, at)
  }

  /** Returns a copy that is not too old, and has the form that this program expects. */
  function find(route: string, input: ReadInput): { at: number; value: ReadInput } | null {
    const place = { route, input: keyOf(input) }
    const copy: Copy | null = outdated.has(route) ? null : stored.get(place)
    if (copy === null) return null
    const at = Math.max(copy.at, confirmed.get(idIn(place)) ?? 0)
    const value = at < now() - LONGEST_MS ? null : valueIn(copy)
    return value === null ? null : { at, value }
  }

  type Found = ReturnType<typeof find>
  const newest = (copies: readonly Found[]): Found =>
    copies.reduce((one, other) => (other !== null && other.at > (one?.at ?? 0) ? other : one), null)

  /** Returns the answer to a read from the copy of a list that contains more. */
  function fromList(route: string, given: ReadInput, base: ReadInput): Found {
    const whole = find(route, base)
    if (whole === null) return null
    const filters = Object.entries(withoutPage(given)).filter(
      ([name, value]) => value !== undefined && !(name in base),
    )
    const value = fromWhole(whole.value, Object.fromEntries(filters), given)
    return value === null ? null : { at: whole.at, value }
  }

  /** Returns one item of the copy of a list. */
  function fromItems(group: string, input: ReadInput): Found {
    const whole = isCopied(group, 'list') ? find(`${group}.list`, {}) : null
    const items = (whole?.value['items'] ?? []) as readonly ReadInput[]
    const value = items.find(({ id }) => id === input['id'])
    return whole === null || value === undefined ? null : { at: whole.at, value }
  }

  function answer(group: string, name: string, input: ReadInput): Found {
    const same = SAME[`${group}.${name}`]
    const route = same?.route ?? `${group}.${name}`
    const asked = { ...input, ...same?.input }
    return newest([
      find(`${group}.${name}`, input),
      fromList(route, asked, withoutPage(asked)),
      ...('id' in input ? [] : [fromList(route, asked, {})]),
      ...(name === 'read' ? [fromItems(group, input)] : []),
    ])
  }

  const noCopy = (since: number, copied: boolean) =>
    new NoCopy(
      'backend_unavailable',
      `The account server ${server} has not answered since ${timeAt(since)}, and this device has no copy of this answer${copied ? ' yet' : ', because only the server has it'}. Try again when the server answers: "countersignd status" shows whether it does.`,
    )

  /** Reads the deleted copies again. A failure leaves them deleted. */
  async function renew(places: readonly CopyPlace[], account: Account): Promise<void> {
    const calls = callsOf(account)
    for (const { route, input } of places) {
      const [group = '', name = ''] = route.split('.')
      try {
        await calls[group]?.[name]?.({ ...pageOfAll(group, name), ...inputIn(input) })
      } catch (cause) {
        log('debug', 'a copy of an answer was not renewed', { route, cause })
      }
    }
  }

  /**
   * Deletes the copies of groups, and returns the places of the most recent ones. If that fails,
   * the copies are not used, because the write itself has succeeded.
   */
  function drop(groups: readonly string[]): CopyPlace[] {
    const routes = groups.flatMap((group) =>
      Object.keys(rows[group] ?? {}).map((name) => `${group}.${name}`),
    )
    const dropped = routes.flatMap((route) => {
      try {
        return stored.drop(route)
      } catch (cause) {
        log('warn', 'copies of answers were not deleted', { route, cause })
        outdated.add(route)
        return []
      }
    })
    for (const place of dropped) confirmed.delete(idIn(place))
    return dropped.toSorted((a, b) => b.at - a.at).slice(0, MOST_RENEWED)
  }

  let filling: Promise<void> | null = null
  async function fillAll(account: Account): Promise<void> {
    const oldest = now() - FILLED_MS
    for (const { group, name } of FILLED) {
      const route = `${group}.${name}`
      const input = pageOfAll(group, name)
      const known = find(route, {}) ?? find(route, input)
      if (rejected.has(route) || (known !== null && known.at > oldest)) continue
      try {
        await callsOf(account)[group]?.[name]?.(input)
      } catch (cause) {
        log('debug', 'an answer was not copied', { route, cause })
        // A machine account, for example, has no addresses. Other errors may pass.
        if (toAppError(cause).code !== 'forbidden') return
        rejected.add(route)
      }
    }
  }

  return {
    begin(group, name) {
      if (!isCopied(group, name)) return null
      const begun = writes
      return (input, value) => {
        if (writes !== begun) return
        const route = `${group}.${name}`
        const text = JSON.stringify(value)
        if (text.length > LARGEST_ANSWER) return
        try {
          keep({ route, input: keyOf(storedInput(input, value as object)) }, text)
        } catch (cause) {
          // The answer itself is good, for example if the disk is full.
          log('warn', 'a copy of an answer was not stored', { route, cause })
        }
      }
    },

    read(since) {
      let asOf: number | null = null
      const account = mapRows<Route, (input: ReadInput) => Promise<unknown>>(
        rows,
        (_, name, group) => async (input) => {
          const copied = isCopied(group, name)
          const found = copied ? answer(group, name, input) : null
          if (found === null) throw noCopy(since, copied)
          asOf = Math.min(asOf ?? found.at, found.at)
          return found.value
        },
      )
      return { account: account as unknown as Account, asOf: () => asOf }
    },

    async during(groups, account, write) {
      writes++
      let value
      try {
        value = await write()
      } finally {
        writes++
      }
      const renewal = renew(drop(groups), account()).finally(() => renewals.delete(renewal))
      renewals.add(renewal)
      return value
    },

    // Syncs can follow each other faster than the copies are made.
    fill: (account) => (filling ??= fillAll(account).finally(() => (filling = null))),

    clear() {
      stored.clear()
      confirmed.clear()
    },

    async idle() {
      await Promise.all(renewals)
    },
  }
}
