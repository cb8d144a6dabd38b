/**
 * Writes the metrics as a text for Prometheus: OpenMetrics, or the older text format.
 *
 * The library is loaded at the first request.
 */
import type { Metric, PrometheusContentType } from 'prom-client'
import { VERSION } from '../runtime/version.ts'
import { METRICS, METRICS_TYPES } from './catalogue.ts'
import { METRIC_HELP } from './help.ts'
import type { Counter, Gauge, Histogram } from './instruments.ts'
import { takeDelays } from './process.ts'

METRICS.build.from(() => [[{ version: VERSION, node: process.versions.node }, 1]])

/** The samples of a family, as the library writes them. */
interface Written {
  readonly name: string
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
  takeDelays()
  for (const key of Object.keys(METRICS) as (keyof typeof METRICS)[]) {
    const instrument = METRICS[key] as Instrument
    const { name, type: kind } = instrument
    const written = { name, help: METRIC_HELP[key], type: kind, values: valuesOf(instrument) }
    // The library changes the name of a counter for OpenMetrics, and reads it here again.
    const own: Written & { get(): Promise<Written> } = { ...written, get: async () => own }
    registry.registerMetric(own as unknown as Metric)
  }
  return { type, body: await registry.metrics() }
}
