/**
 * The catalogue of events: what each type means, and what an event of it contains.
 *
 * An event names a resource by its id and its name. It never contains words, secrets, tokens, or
 * other texts that people wrote. A program that needs more reads the resource.
 */
import * as v from 'valibot'
import { Time, id, named } from '../fields.ts'

/** The data of an event, and what the type means, as a sentence for the documents. */
const of = <const Entries extends v.ObjectEntries>(text: string, entries: Entries) => ({
  text,
  data: v.object(entries),
})

const token = { token_id: id('tok_'), name: v.string() }

export const EVENTS = {
  'token.created': of('An API token of this daemon was created.', token),
  'token.revoked': of('An API token of this daemon was revoked.', token),
} as const

export type EventType = keyof typeof EVENTS
export type EventData<T extends EventType> = v.InferOutput<(typeof EVENTS)[T]['data']>

/** All types of the catalogue, in its order. */
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[]

/** The events that are not in the catalogue, because they describe the stream itself. */
export const STREAM_EVENT = { gap: 'gap', overflow: 'overflow' } as const

const eventId = id('evt_')

/** An event of any type of the catalogue. */
export const Event = named(
  'Event',
  v.union(
    EVENT_TYPES.map((type) =>
      v.object({
        id: eventId,
        type: v.pipe(v.literal(type), v.description(EVENTS[type].text)),
        timestamp: Time,
        data: EVENTS[type].data,
      }),
    ),
  ),
)

/** Marks where events are missing. */
export const Gap = named(
  'Gap',
  v.pipe(
    v.object({
      type: v.literal(STREAM_EVENT.gap),
      timestamp: Time,
      data: v.object({
        oldest: v.pipe(
          v.nullable(eventId),
          v.description('The oldest event that is still stored; null if there is none.'),
        ),
      }),
    }),
    v.description(
      'Events before the following ones are missing: they are no longer stored, or `since` is not an event of this daemon. Read the resources again.',
    ),
  ),
)
