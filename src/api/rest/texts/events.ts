/** The texts of `../../live/events.ts`. */
import type { Texts } from './text.ts'

export const eventTexts: Texts<'events'> = {
  events: {
    follow: {
      summary: 'Read what changes, as it happens',
      description:
        'An event stream (server-sent events) of what changes for the account on this daemon. The stream lasts until one side closes it. Each event has an `id`, a type in `event`, and in `data` the JSON of the schema `Event`. Events are kept for 7 days, at most 10,000: to continue after a break, send the last `id` as `Last-Event-ID` or `since`. ' +
        'If events are missing, the event `gap` comes before the next one. A reader that is too slow gets the event `overflow` as its last one. With `wait`, the answer is JSON (the schema `EventPage`). Types that begin with `org.` need a token of scope `full`; other tokens do not get them. A stream ends when its token ends.',
      tool: {
        title: 'Read what has changed',
        description:
          'Read what changed on this daemon, such as new connections or checks of words. Pass the `since` of the last answer to get what is new; without it, only what happens while you wait. Set wait to wait for an event. Events name resources; read those with other tools.',
      },
    },
  },
}
