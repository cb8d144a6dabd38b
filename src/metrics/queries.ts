/** Measures the statements of the account database. */
import { elapsedMs } from '../elapsed.ts'
import { METRICS } from './catalogue.ts'

/** Returns functions that run a statement of an engine and measure it. */
export function measuredQueries(engine: 'sqlite' | 'postgresql') {
  const duration = METRICS.queryDuration.at({ engine })
  const failures = METRICS.queryFailures.at({ engine })
  return {
    measured: <T>(query: () => T): T => {
      const from = elapsedMs()
      try {
        return query()
      } catch (error) {
        failures.value++
        throw error
      } finally {
        METRICS.queryDuration.observe(duration, elapsedMs() - from)
      }
    },
    measuredLater: async <T>(query: () => Promise<T>): Promise<T> => {
      const from = elapsedMs()
      try {
        return await query()
      } catch (error) {
        failures.value++
        throw error
      } finally {
        METRICS.queryDuration.observe(duration, elapsedMs() - from)
      }
    },
  }
}
