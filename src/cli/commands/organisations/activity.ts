import type { Metric, OrgActivity } from '../../../api/rest/org.ts'
import type { Api, Command } from '../../command.ts'
import {
  type FieldValues,
  optionsOf,
  parseLimit,
  textField,
  valuesOf,
} from '../../option-fields.ts'
import { table } from '../../table.ts'
import { when } from '../../times.ts'

/** The maximum number of items in one page. */
const PAGE = 200
const USUAL = 50
/** The labels of the dashboard's figures. */
const FIGURES = {
  machines: 'of these members are machine accounts',
  groups: 'groups',
  connections: 'connections created',
  verifications: 'words verified',
  stamps: 'stamps made',
  alerts_fired: 'times an alert fired',
  activities: 'events in total',
} as const

const DAYS = { from: textField('from'), to: textField('to') }
const DAYS_HELP = `\
  --from DAY   the first day, for example 2026-01-31, in UTC (default: 29 days before the last day)
  --to DAY     the last day (default: today)`

const whoIs = (actor: OrgActivity['actor']) =>
  actor === null ? '-' : `${actor.display_name} (${actor.user_id})`

/** Fetches the newest activities in a range of days, page by page. */
async function newest(
  api: Api,
  limit: number,
  days: FieldValues<typeof DAYS>,
): Promise<OrgActivity[]> {
  const items: OrgActivity[] = []
  let cursor: string | null | undefined
  while (cursor !== null && items.length < limit) {
    const query = { ...days, limit: Math.min(PAGE, limit - items.length) }
    const page = await api.orgActivity.list(cursor === undefined ? query : { ...query, cursor })
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}

export const orgActivityCommand: Command = {
  usage: '[--limit N] [--from DAY] [--to DAY] [--json]',
  help: `
Lists the events in the current organisation, newest first.

  --limit N    list at most this number of events (default: ${USUAL})
  --from DAY   list only events of this day and later days, for example 2026-01-31, in UTC
  --to DAY     list only events of this day and earlier days`,
  options: { ...optionsOf(DAYS), limit: { type: 'string' } },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const limit = parseLimit(String(options['limit'] ?? USUAL))
    const items = await withApi((api) => newest(api, limit, valuesOf(DAYS, options)))
    print(
      { items },
      await table(
        ['AT', 'EVENT', 'BY', 'ABOUT', 'MORE'],
        items.map(({ at, event, actor, target, data }) => [
          when(at),
          event,
          whoIs(actor),
          target ?? '-',
          Object.entries(data)
            .map(([name, text]) => `${name}: ${text}`)
            .join(', '),
        ]),
      ),
    )
  },
}

export const orgSummary: Command = {
  usage: '[--from DAY] [--to DAY] [--json]',
  help: `
Shows how often each kind of event happened in the current organisation, and who was most active. The period can be
at most one year.

${DAYS_HELP}`,
  options: optionsOf(DAYS),
  args: [0, 0],
  async run({ options, withApi, print }) {
    const summary = await withApi((api) => api.orgActivity.summary(valuesOf(DAYS, options)))
    print(summary, [
      ...(await table(
        ['EVENT', 'COUNT'],
        summary.by_event.map(({ event, count }) => [event, String(count)]),
      )),
      '',
      ...(await table(
        ['BY', 'COUNT'],
        summary.by_actor.map(({ actor, count }) => [whoIs(actor), String(count)]),
      )),
    ])
  },
}

export const orgDashboard: Command = {
  usage: '[--json]',
  help: 'Shows the totals of the current organisation, for example the numbers of members, connections and stamps.',
  args: [0, 0],
  async run({ withApi, print }) {
    const { members, ...figures } = await withApi((api) => api.orgAnalytics.dashboard({}))
    const line = (count: number, what: string) => `${String(count).padStart(8)}  ${what}`
    print({ members, ...figures }, [
      ...Object.entries(members).map(([state, count]) => line(count, `members, ${state}`)),
      ...Object.entries(FIGURES).map(([name, what]) =>
        line(figures[name as keyof typeof FIGURES], what),
      ),
    ])
  },
}

const TRENDS = {
  metric: textField<Metric>('metric'),
  ...DAYS,
  bucket: textField<'day' | 'week'>('bucket'),
}

export const orgTrends: Command = {
  usage: '[--metric METRIC] [--from DAY] [--to DAY] [--bucket day|week] [--json]',
  help: `
Shows the number of events in the current organisation by day or by week. The period can be at most one year by day,
and at most ten years by week. Weeks begin on Monday. In the first and the last week, only the days within the
period are counted.

  --metric METRIC   count only this kind of event, with the name that "countersignd org activity" shows, or count all
                    events: activity (default: activity)
  --bucket BUCKET   day or week (default: day)
  --from DAY        the first day, for example 2026-01-31, in UTC (default: 29 days before the last day)
  --to DAY          the last day (default: today)`,
  options: optionsOf(TRENDS),
  args: [0, 0],
  async run({ options, withApi, print }) {
    const trend = await withApi((api) => api.orgAnalytics.trends(valuesOf(TRENDS, options)))
    print(
      trend,
      await table(
        [trend.bucket === 'week' ? 'WEEK OF' : 'DAY', 'COUNT'],
        trend.points.map(({ at, value }) => [at.slice(0, 10), String(value)]),
      ),
    )
  },
}
