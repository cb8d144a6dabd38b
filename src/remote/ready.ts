/** Checks the health route of an account server, with a single attempt. */
import { site } from '../api/site/index.ts'
import { valueOf } from './answer.ts'
import { Passing } from './faults.ts'
import type { Transport } from './transport.ts'

/**
 * Checks that the server and its database respond.
 * @throws AppError backend_unavailable, backend_timeout or backend_error if they do not
 */
export async function askReady(transport: Transport): Promise<void> {
  const route = site.siteHealth.ready
  const question = { method: route.method, target: route.path, headers: {}, body: undefined }
  try {
    valueOf(await transport.exchange(question), route, transport.origin)
  } catch (error) {
    throw error instanceof Passing ? error.error : error
  }
}
