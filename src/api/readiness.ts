/** The dependencies of a ready program, which `GET /health/ready` and a metric show. */
import { METRICS } from '../metrics/catalogue.ts'
import type { Dependency } from './rest/health.ts'

/** How long a result is used for further requests, in milliseconds. */
const FRESH_MS = 1_000

export type ReadDependencies = () => Promise<readonly Dependency[]>

/** Returns a dependency that is usable. */
export const active = (service: Dependency['service'], message: string): Dependency => ({
  service,
  status: 'active',
  message,
})

/**
 * Returns a function that examines the dependencies, at most once a second.
 * @param of `examine` must not reject; `now` returns Unix milliseconds; `signal` aborts when the
 *   program stops
 */
export function newReadiness(of: {
  readonly examine: ReadDependencies
  readonly now: () => number
  readonly signal: AbortSignal
}): ReadDependencies {
  const { examine, now, signal } = of
  let known: readonly Dependency[] = []
  let examinedAt: number | null = null
  let examining: Promise<readonly Dependency[]> | null = null

  const forget = METRICS.dependencies.from(() =>
    known.map(({ service, status }) => [{ service }, status === 'active' ? 1 : 0]),
  )
  signal.addEventListener('abort', forget, { once: true })

  async function examined(): Promise<readonly Dependency[]> {
    known = await examine()
    examinedAt = now()
    return known
  }

  return async () => {
    // After the clock was set back, the result is not used either.
    const age = examinedAt === null ? Infinity : Math.abs(now() - examinedAt)
    if (age < FRESH_MS) return known
    examining ??= examined().finally(() => {
      examining = null
    })
    return examining
  }
}
