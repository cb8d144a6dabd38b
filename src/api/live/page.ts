/** The JSON answer of `GET /api/v1/events?wait=`. No running daemon needs its schema. */
import * as v from 'valibot'
import { id, named } from '../fields.ts'
import { Event, Gap } from './catalogue.ts'

export const EventPage = named(
  'EventPage',
  v.object({
    items: v.array(v.union([Event, Gap])),
    since: v.pipe(id('evt_'), v.description('Pass this in the next request.')),
  }),
)
