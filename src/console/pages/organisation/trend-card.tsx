/** How often events happened in the organisation, as a chart and as a table. */
import { useSignal, type Signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { now } from '../../data/clock.ts'
import { useResource } from '../../data/resource.ts'
import { filled, locale, messages } from '../../text/text.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { Loaded } from '../../ui/page.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { ORGANISATION_CHANGES } from './changes.ts'
import type { TrendChartProps } from './trend-chart.tsx'

type Trend = Schemas['OrgTrend']
type Metric = Trend['metric']

/** What can be counted, in the order of the choice. */
const METRICS: readonly Metric[] = [
  'activity',
  'verification',
  'verification_failed',
  'stamp',
  'connection_created',
  'member_joined',
  'member_left',
  'member_suspended',
  'alert_fired',
]

const DAY_MS = 86_400_000
const PERIODS = {
  days30: { days: 30, bucket: 'day' },
  days90: { days: 90, bucket: 'day' },
  weeks52: { days: 364, bucket: 'week' },
} as const
type Period = keyof typeof PERIODS

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

const metricText = (metric: Metric): string => {
  const { organisation: texts } = messages()
  return metric === 'activity' ? texts.metricAll : texts[`event_${metric}`]
}

/** Returns the day of a point. The server counts by days in UTC. */
const dayText = (at: string): string =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(at))

/** Returns what the chart shows in one sentence, for people who cannot see it. */
function summaryOf({ metric, points }: Trend): string {
  const { organisation: texts } = messages()
  const total = points.reduce((sum, { value }) => sum + value, 0)
  const [first, ...others] = points
  if (first === undefined || total === 0)
    return filled(texts.trendNone, { metric: metricText(metric) })
  const most = others.reduce((best, point) => (point.value > best.value ? point : best), first)
  const values = { metric: metricText(metric), total, most: most.value, day: dayText(most.at) }
  return filled(texts.trendSummary, values)
}

const TrendTable = ({ of: { bucket, points } }: { readonly of: Trend }) => {
  const { organisation: texts } = messages()
  return (
    <TableBox
      label={texts.trend}
      heading={[bucket === 'day' ? texts.day : texts.week, texts.count]}
    >
      {points.toReversed().map(({ at, value }) => (
        <tr key={at}>
          <td>{dayText(at)}</td>
          <td>{value.toLocaleString(locale())}</td>
        </tr>
      ))}
    </TableBox>
  )
}

/** The chart. Its library is loaded when it is first shown. */
const LazyChart = (of: TrendChartProps) => {
  const Chart = useSignal<ComponentType<TrendChartProps> | null>(null)
  useEffect(() => {
    // Without the chart, the summary and the table still show the data.
    import('./trend-chart.tsx').then(
      ({ TrendChart }) => {
        Chart.value = TrendChart
      },
      () => undefined,
    )
  }, [])
  return Chart.value === null ? <div class="chart" /> : <Chart.value {...of} />
}

const TrendContent = (of: {
  readonly metric: Metric
  readonly period: Period
  /** Whether the table is shown, also after another choice. */
  readonly isTable: Signal<boolean>
}) => {
  const { organisation: texts } = messages()
  const { days, bucket } = PERIODS[of.period]
  const trend = useResource(
    `${of.metric} ${of.period}`,
    () => {
      const from = dayOf(now.peek() - (days - 1) * DAY_MS)
      const query = { metric: of.metric, from, bucket }
      return dataOf(api.GET('/api/v1/org/analytics/trends', { params: { query } }))
    },
    ORGANISATION_CHANGES,
  )
  return (
    <Loaded from={trend}>
      {(data) => (
        <>
          <LazyChart trend={data} summary={summaryOf(data)} label={metricText(data.metric)} />
          <p class="hint">{summaryOf(data)}</p>
          <details
            open={of.isTable.value}
            onToggle={(event) => {
              of.isTable.value = event.currentTarget.open
            }}
          >
            <summary>{texts.asTable}</summary>
            <TrendTable of={data} />
          </details>
        </>
      )}
    </Loaded>
  )
}

/** The section of the trend. */
export const TrendCard = () => {
  const { organisation: texts } = messages()
  const metric = useSignal<Metric>('activity')
  const period = useSignal<Period>('days30')
  const isTable = useSignal(false)
  return (
    <section class="card">
      <h2>{texts.trend}</h2>
      <div class="pair">
        <SelectField
          label={texts.metric}
          value={metric}
          options={METRICS.map((one) => [one, metricText(one)])}
        />
        <SelectField
          label={texts.period}
          value={period}
          options={(['days30', 'days90', 'weeks52'] as const).map((one) => [one, texts[one]])}
        />
      </div>
      <TrendContent metric={metric.value} period={period.value} isTable={isTable} />
    </section>
  )
}
