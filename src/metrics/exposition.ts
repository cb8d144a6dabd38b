/**
 * Writes the metrics as a text for Prometheus: OpenMetrics, or the older text format.
 *
 * The library is loaded at the first request. It also measures the process and the event loop, from
 * then on.
 */
import type { Metric, PrometheusContentType, Registry } from 'prom-client'
import { VERSION } from '../runtime/version.ts'
import { METRICS, METRICS_TYPES } from './catalogue.ts'
import type { Counter, Gauge, Histogram } from './instruments.ts'

METRICS.build.from(() => [[{ version: VERSION, node: process.versions.node }, 1]])

/** How exactly the library measures delays of the event loop, in milliseconds. */
const PRECISION_MS = 20

/** The samples of a family, as the library writes them. */
interface Written {
  name: string
  readonly help: string
  readonly type: string
  readonly values: readonly {
    readonly value: number
    readonly labels: Readonly<Record<string, string | number>>
    readonly metricName?: string
  }[]
}

type Instrument = Counter | Gauge | Histogram

/** Returns the value of each label. */
const labelled = (labels: readonly string[], key: readonly string[]) =>
  Object.fromEntries(labels.map((label, at) => [label, key[at] as string]))

/** Returns the samples of a histogram: each bucket counts all observations up to its bound. */
const bucketsOf = (histogram: Histogram): Written['values'] =>
  histogram.all().flatMap(({ key, series: { counts, sum } }) => {
    const labels = labelled(histogram.labels, key)
    let below = 0
    const buckets = counts.map((count, at) => {
      below += count
      const le = histogram.bounds[at] ?? '+Inf'
      return { metricName: `${histogram.name}_bucket`, labels: { ...labels, le }, value: below }
    })
    return [
      ...buckets,
      { metricName: `${histogram.name}_sum`, labels, value: sum },
      { metricName: `${histogram.name}_count`, labels, value: below },
    ]
  })

function valuesOf(instrument: Instrument): Written['values'] {
  if (instrument.type === 'histogram') return bucketsOf(instrument)
  return instrument
    .all()
    .map(({ key, series }) => ({ labels: labelled(instrument.labels, key), value: series.value }))
}

/** The metrics that the library collects: of the process and of Node. */
let standard: Promise<readonly Metric[]> | undefined

async function collectStandard(): Promise<readonly Metric[]> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: PRECISION_MS })
  // By the conventions, only the names of counters end in `_total`.
  const names = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)
  // Without a sample, the library reports the largest number as the shortest delay.
  for (const name of [...names, 'nodejs_eventloop_lag_min_seconds'])
    registry.removeSingleMetric(name)
  return registry.getMetricsAsArray() as unknown as readonly Metric[]
}

/**
 * Registers a family for one text.
 *
 * The library changes the names of counters for OpenMetrics, so a family is never shared by two
 * texts.
 */
function register(to: Registry, family: Omit<Written, 'values'>, read: () => Promise<Written>) {
  const own = { ...family, get: async () => ({ ...(await read()), name: own.name }) }
  to.registerMetric(own as unknown as Metric)
}

/** Whether a client accepts only the older format, by its Accept header field. */
const isOld = (accept: string): boolean =>
  /\btext\/(plain|\*)/i.test(accept) && !/\bapplication\/openmetrics-text\b/i.test(accept)

/**
 * Returns all metrics as a text. Older clients get the older format.
 * @param accept the Accept header field of the request
 */
export async function exposition(
  accept: string,
): Promise<{ readonly type: string; readonly body: string }> {
  const type = METRICS_TYPES[isOld(accept) ? 1 : 0]
  const { Registry } = await import('prom-client')
  const registry = new Registry()
  registry.setContentType(type as PrometheusContentType)
  for (const instrument of Object.values(METRICS) as readonly Instrument[]) {
    const { name, help, type: kind } = instrument
    const family = { name, help, type: kind }
    register(registry, family, async () => ({ ...family, values: valuesOf(instrument) }))
  }
  for (const metric of await (standard ??= collectStandard())) {
    const { name, help, type: kind } = metric as unknown as Written
    register(registry, { name, help, type: kind }, async () => {
      const read = (await metric.get()) as unknown as Written
      // The delays of the event loop are no numbers before the first sample.
      return { ...read, values: read.values.filter(({ value }) => !Number.isNaN(value)) }
    })
  }
  return { type, body: await registry.metrics() }
}
