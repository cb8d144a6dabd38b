/** Counts the runs of scheduled jobs. */
import { elapsedMs } from '../elapsed.ts'
import { type ScheduledJob, METRICS } from './catalogue.ts'

/** When each job last succeeded in this process, Unix seconds. */
const succeeded = new Map<ScheduledJob, number>()
METRICS.lastJob.from(() => [...succeeded].map(([task, at]) => [{ task }, at]))

/** Runs a job and counts it. Rejects as the job does. */
export async function countedJob<T>(task: ScheduledJob, work: () => Promise<T>): Promise<T> {
  const from = elapsedMs()
  let result: 'succeeded' | 'failed' = 'failed'
  try {
    const done = await work()
    result = 'succeeded'
    succeeded.set(task, Date.now() / 1000)
    return done
  } finally {
    METRICS.jobs.add({ task, result })
    METRICS.jobDuration.observe(METRICS.jobDuration.at({ task }), elapsedMs() - from)
  }
}
