/** Whether the account server is up, and what it depends on. */
import type { Open } from '../../api/port.ts'
import { active, newReadiness, type ReadDependencies } from '../../api/readiness.ts'
import type { Dependency } from '../../api/rest/health.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { isMailFailing } from '../mail/mail-counts.ts'

/**
 * How long to wait for the database, in milliseconds. It is short, because readiness probes are
 * repeated every few seconds and treat a missing answer as a failure.
 */
const READY_MS = 2_000

/** Waits for a query. Throws AppError `backend_unavailable` if it takes longer than READY_MS. */
async function soon(answer: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new AppError('backend_unavailable', 'The database did not answer in time.')
    timer = setTimeout(() => reject(error), READY_MS)
  })
  try {
    await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

// Anyone may read these messages, so they name no place and no cause.
function mailNow(): Dependency {
  if (!isMailFailing()) return active('mail', 'The last mail was sent, or none was sent yet.')
  return { service: 'mail', status: 'degraded', message: 'The last mail could not be sent.' }
}

const notReady = (message: string, dependencies: readonly Dependency[], cause?: unknown) =>
  new AppError('backend_unavailable', message, { details: { dependencies }, cause })

export const siteHealth = (context: ServiceContext): Open['siteHealth'] => {
  const { db, version, started, now, isDraining, signal } = context
  /** Why the database was down when it was last examined, for the log. */
  let databaseFault: unknown
  async function databaseNow(): Promise<Dependency> {
    try {
      await soon(db.selectFrom('receipt_key').select('id').executeTakeFirst())
      return active('database', 'The database answers.')
    } catch (error) {
      databaseFault = error
      return { service: 'database', status: 'down', message: 'The database does not answer.' }
    }
  }
  const examine: ReadDependencies = async () => [await databaseNow(), mailNow()]
  const dependencies = newReadiness({ examine, now, signal })
  const read = async () => ({
    status: 'ok' as const,
    version,
    uptime_s: Math.max(0, Math.floor((now() - started) / 1000)),
  })
  return {
    read,
    ready: async () => {
      const found = await dependencies()
      if (isDraining())
        throw notReady('This server is about to stop. Send requests to another server.', found)
      if (found.some(({ status }) => status === 'down'))
        throw notReady('The database does not answer.', found, databaseFault)
      return { name: 'Countersign account server', ...(await read()), dependencies: [...found] }
    },
  }
}
