import { EVENT_STREAM } from '../api/event-stream.ts'
import { invalid } from '../api/input.ts'
import { isOfOrganisation, noSuchType, typesMatching } from '../api/live/event-types.ts'
import type { Caller } from '../auth/tokens.ts'
import { isGranted, orgEventsRefused } from '../auth/scopes.ts'
import { isId } from '../crypto/encoding/id.ts'
import type { EventRows } from '../state/events.ts'
import { type HandlerContext, type Handlers, type Home, noDevice } from './context.ts'
import { BEFORE_ALL, type EventReaders, type Place, newEventReaders } from './event-readers.ts'

/** A time with a date, a time of day and an offset from UTC (RFC 3339 section 5.6). */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i

const invalidSince = () =>
  invalid('query', [
    {
      path: 'since',
      message:
        'Expected the id of an event (evt_ and 26 characters) or a time such as 2026-01-31T12:00:00Z.',
    },
  ])

/** Returns the place after an event. */
function placeAfter(rows: EventRows, id: string): Place {
  const seq = id === BEFORE_ALL ? 0 : rows.seqOf(id)
  const before = (rows.oldest()?.seq ?? rows.last() + 1) - 1
  return seq === null || seq < before ? { seq: before, isGap: true } : { seq, isGap: false }
}

/** Returns the place before the first event at a time, Unix milliseconds. */
function placeAt(rows: EventRows, at: number): Place {
  const oldest = rows.oldest()
  if (oldest !== null && oldest.seq > 1 && at < oldest.at)
    return { seq: oldest.seq - 1, isGap: true }
  return { seq: (rows.firstSince(at) ?? rows.last() + 1) - 1, isGap: false }
}

/**
 * Returns the place at which a reader begins.
 * @throws AppError `validation_failed`
 */
export function startingPlace(rows: EventRows, since: string | undefined): Place {
  if (since === undefined) return { seq: rows.last(), isGap: false }
  if (isId('evt_', since)) return placeAfter(rows, since)
  const at = TIME.test(since) ? Date.parse(since) : Number.NaN
  if (Number.isNaN(at)) throw invalidSince()
  return placeAt(rows, at)
}

/**
 * Returns a function that returns whether a caller may read events of organisations. The scope of a
 * console becomes less while it reads.
 */
const isFullNow = (caller: Caller, tokens: Pick<Home['tokens'], 'scopeOf'>) => (): boolean =>
  isGranted(caller.token === null ? caller.scope : (tokens.scopeOf(caller.token) ?? 'read'), 'full')

/**
 * Returns whether a reader wants events of a type. Without `full`, it gets none of organisations.
 * @throws AppError `validation_failed` for an unknown type, `insufficient_scope` if the types name
 *   those of organisations and the caller may not read them
 */
function wantedBy(
  caller: Caller,
  types: string | undefined,
  isFull: () => boolean,
): (type: string) => boolean {
  const mayRead = (type: string) => !isOfOrganisation(type) || isFull()
  if (types === undefined) return mayRead
  const wanted = new Set<string>()
  for (const one of types.split(',')) {
    const matches = typesMatching(one)
    if (matches.length === 0) throw invalid('query', [{ path: 'types', message: noSuchType(one) }])
    for (const type of matches) wanted.add(type)
  }
  if (![...wanted].every(mayRead)) throw orgEventsRefused(caller.scope)
  return (type) => wanted.has(type) && mayRead(type)
}

const readersOf = new WeakMap<Home, EventReaders>()

function readers(home: Home): EventReaders {
  const known = readersOf.get(home) ?? newEventReaders(home.events, home)
  readersOf.set(home, known)
  return known
}

/**
 * Returns a function that returns whether a caller may still read. After a sign-in, a sign-out or
 * the revocation of this device, it may not, so that no event of one account follows those of
 * another.
 */
function accessOf({ home, caller }: HandlerContext): () => boolean {
  const { deviceSession, tokens } = home
  const account = deviceSession.identity()?.account
  const isActive = deviceSession.device() !== null
  const token = caller?.token ?? null
  return () =>
    deviceSession.identity()?.account === account &&
    (!isActive || deviceSession.device() !== null) &&
    (token === null || tokens.scopeOf(token) !== null)
}

export const events: Handlers['events'] = {
  follow: async ({ since, types, wait }, context) => {
    const { home, caller } = context
    if (context.byMachine || caller === null) throw noDevice()
    const reader = {
      owner: caller.token ?? 'command line',
      isAllowed: accessOf(context),
      wants: wantedBy(caller, types, isFullNow(caller, home.tokens)),
      from: startingPlace(home.events, context.header('last-event-id') || since),
    }
    if (wait === undefined) return { type: EVENT_STREAM, body: readers(home).stream(reader) }
    const page = await readers(home).wait(reader, wait * 1000)
    return { type: 'application/json', body: JSON.stringify(page) }
  },
}
