/**
 * Counters, histograms and gauges. Counting is an addition to a number in memory. Texts are
 * only needed when the metrics are read (`exposition.ts`).
 *
 * A label has a fixed set of values, or its values are texts of the program, such as the paths of
 * its routes. So no caller can add series.
 */

/** The values of each label; `program` stands for texts that the program contains. */
type Labels = Readonly<Record<string, readonly string[] | 'program'>>

type ValuesOf<L extends Labels> = {
  readonly [K in keyof L]: L[K] extends readonly (infer Value)[] ? Value : string
}

interface Described<L extends Labels> {
  /** The name, without the suffixes that the format adds to the names of samples. */
  readonly name: string
  readonly labels: L
}

/** The values of a series' labels, in the order of the labels. */
type Key = readonly string[]

/** A number of one series. */
export interface Amount {
  value: number
}

/** The observations of one series of a histogram. */
export interface Distribution {
  /** How many observations fell below each bound and above the one before; at last, all others. */
  readonly counts: number[]
  sum: number
}

/** A family is empty at first, unless it has at most this many series. */
const FEW = 40

const keysOf = (labels: Labels): Key[] =>
  Object.values(labels).reduce<Key[]>(
    (keys, values) =>
      values === 'program' ? [] : keys.flatMap((key) => values.map((value) => [...key, value])),
    [[]],
  )

/** The series of a family. They are created when they are first used. */
class Family<L extends Labels, Series> {
  readonly name: string
  readonly labels: readonly string[]
  /** The values of each label. */
  readonly values: L
  private readonly found = new Map<string, { readonly key: Key; readonly series: Series }>()
  private readonly make: () => Series

  constructor({ name, labels }: Described<L>, make: () => Series) {
    this.name = name
    this.labels = Object.keys(labels)
    this.values = labels
    this.make = make
    // A rate needs a value before the first event.
    const keys = keysOf(labels)
    if (keys.length <= FEW) for (const key of keys) this.ofKey(key)
  }

  private ofKey(key: Key): Series {
    const id = key.join('\n')
    const known = this.found.get(id)
    if (known !== undefined) return known.series
    const series = this.make()
    this.found.set(id, { key, series })
    return series
  }

  /** Returns the series with these values of the labels. Callers may keep it. */
  at(values: ValuesOf<L>): Series {
    return this.ofKey(this.labels.map((label) => values[label] as string))
  }

  /** Returns all series, with the values of their labels. */
  all(): { readonly key: Key; readonly series: Series }[] {
    return [...this.found.values()]
  }
}

const zero = (): Amount => ({ value: 0 })

/** A number that only grows. */
export class Counter<L extends Labels = Labels> extends Family<L, Amount> {
  readonly type = 'counter'

  constructor(described: Described<L>) {
    super(described, zero)
  }

  add(values: ValuesOf<L>): void {
    this.at(values).value++
  }
}

/** Reads the present values of a gauge, one for each series. */
type GaugeReader<L extends Labels> = () => Iterable<readonly [values: ValuesOf<L>, value: number]>

/** Returns the values of a reader. If its database is gone, the other metrics are still needed. */
function readOrNothing<L extends Labels>(reader: GaugeReader<L>): ReturnType<GaugeReader<L>> {
  try {
    return [...reader()]
  } catch {
    return []
  }
}

/**
 * A number that is read when it is needed.
 *
 * A process can have several readers of one gauge; their values are added.
 */
export class Gauge<L extends Labels = Labels> {
  readonly type: 'gauge' | 'counter'
  readonly name: string
  readonly labels: readonly string[]
  /** The values of each label. */
  readonly values: L
  private readonly readers = new Set<GaugeReader<L>>()

  /** @param described `type`: `counter` if the number only grows */
  constructor(described: Described<L> & { readonly type?: 'counter' }) {
    const { name, labels, type = 'gauge' } = described
    this.type = type
    this.name = name
    this.labels = Object.keys(labels)
    this.values = labels
  }

  /** Adds a reader. Returns a function that removes it. */
  from(reader: GaugeReader<L>): () => void {
    this.readers.add(reader)
    return () => void this.readers.delete(reader)
  }

  /** Returns the present values. */
  all(): { readonly key: Key; readonly series: Amount }[] {
    const sums = new Map<string, { key: Key; series: Amount }>()
    for (const reader of this.readers)
      for (const [values, value] of readOrNothing(reader)) {
        const key = this.labels.map((label) => values[label] as string)
        const id = key.join('\n')
        const sum = sums.get(id) ?? { key, series: zero() }
        sum.series.value += value
        sums.set(id, sum)
      }
    return [...sums.values()]
  }
}

/** Durations in seconds, counted by their size. */
export class Histogram<L extends Labels = Labels> extends Family<L, Distribution> {
  readonly type = 'histogram'
  /** The upper bounds in seconds, in ascending order. */
  readonly bounds: readonly number[]

  constructor(described: Described<L> & { readonly bounds: readonly number[] }) {
    super(described, () => ({ counts: Array<number>(described.bounds.length + 1).fill(0), sum: 0 }))
    this.bounds = described.bounds
  }

  /** Adds a duration in milliseconds to a series. */
  observe(series: Distribution, ms: number): void {
    const seconds = ms / 1000
    let at = 0
    while (at < this.bounds.length && seconds > this.bounds[at]!) at++
    series.counts[at]!++
    series.sum += seconds
  }
}
