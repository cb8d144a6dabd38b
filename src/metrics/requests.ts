/** Counts the requests of a listener. */
import type { ErrorCode } from '../errors.ts'
import { type CountedMethod, type ListenerName, METRICS } from './catalogue.ts'
import type { Distribution, Amount } from './instruments.ts'

/** The series of one route, so that counting a request creates no object. */
interface RouteCounts {
  readonly duration: Distribution
  readonly statuses: Map<number, Amount>
}

export interface RequestCounts {
  /**
   * Counts a request when its answer is sent.
   * @param route the method and the path, as in the table; null if there is no such row
   * @param ms the time since its headers arrived, in milliseconds
   */
  answered(route: string | null, status: number, ms: number): void
  /** Counts the error of a request. */
  failed(code: ErrorCode): void
  /** Counts a request that the guard rejected. */
  refused(code: ErrorCode): void
  /** Counts an open stream. Returns a function to call when it ends. */
  streams(route: string): () => void
  /** Counts open connections, which `open` returns, until the returned function is called. */
  connections(open: () => number): () => void
}

/** Returns the counts of a listener. */
export function newRequestCounts(listener: ListenerName): RequestCounts {
  const routes = new Map<string | null, RouteCounts>()
  const open = new Map<string, number>()

  const labelsOf = (name: string | null) => {
    const [method = 'other', route = 'none'] = name?.split(' ') ?? []
    return { listener, method: method as CountedMethod, route }
  }

  function countsOf(name: string | null): RouteCounts {
    const known = routes.get(name)
    if (known !== undefined) return known
    const duration = METRICS.requestDuration.at(labelsOf(name))
    const made = { duration, statuses: new Map<number, Amount>() }
    routes.set(name, made)
    return made
  }

  function amountOf(name: string | null, { statuses }: RouteCounts, status: number): Amount {
    const amount = METRICS.requests.at({ ...labelsOf(name), status: String(status) })
    statuses.set(status, amount)
    return amount
  }

  const streamsNow = () =>
    [...open].map(([name, count]) => [{ listener, route: labelsOf(name).route }, count] as const)

  return {
    answered(name, status, ms) {
      const counts = countsOf(name)
      METRICS.requestDuration.observe(counts.duration, ms)
      ;(counts.statuses.get(status) ?? amountOf(name, counts, status)).value++
    },
    failed: (code) => METRICS.requestErrors.add({ listener, code }),
    refused: (code) => METRICS.guardRefusals.add({ listener, code }),
    streams(name) {
      open.set(name, (open.get(name) ?? 0) + 1)
      return () => void open.set(name, (open.get(name) ?? 1) - 1)
    },
    connections(count) {
      const ends = [
        METRICS.connections.from(() => [[{ listener }, count()]]),
        METRICS.streams.from(streamsNow),
      ]
      return () => ends.forEach((end) => end())
    },
  }
}
