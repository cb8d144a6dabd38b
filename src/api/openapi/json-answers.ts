import { EventPage } from '../live/page.ts'
import { events } from '../live/events.ts'
import type { RowSchema } from '../route.ts'

/** The schemas of the JSON answers of rows with `media`, by path. Only documents need them. */
export const JSON_ANSWERS: Readonly<Record<string, RowSchema>> = {
  [events.follow.path]: EventPage,
}
