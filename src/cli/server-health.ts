/** Asks the account server of this machine whether it is ready, for monitors of containers. */
import { request } from 'node:http'
import type { Config } from '../config/config.ts'
import { StartError } from '../errors.ts'
import { urlOf } from '../http/address.ts'

/** The server itself answers within two seconds, even if its database does not. */
const PATIENCE_MS = 5000

/** The addresses that stand for all addresses of the machine, and one of them. */
const ANY: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/**
 * Returns the status of an answer; null if there is none.
 * @param host the host that the server accepts, which is that of its public URL
 */
const statusOf = (at: { host: string; port: number }, host: string): Promise<number | null> =>
  new Promise((resolve) => {
    const asked = request(
      {
        ...at,
        path: '/health/ready',
        headers: { Host: host },
        signal: AbortSignal.timeout(PATIENCE_MS),
      },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? null)
      },
    )
    asked.on('error', () => resolve(null))
    asked.end()
  })

/**
 * Returns the address of the account server that these settings describe, if it is ready.
 * @throws StartError `daemonSilent` if it does not answer or is not ready, `configuration` if its
 * port is not known
 */
export async function readyServer(
  config: Pick<Config, 'accountBind' | 'accountPort' | 'publicUrl'>,
): Promise<string> {
  const { accountBind, accountPort: port, publicUrl } = config
  if (port === 0)
    throw new StartError(
      'configuration',
      'SVC_ACCOUNT_PORT is 0, so the port of the account server is not known. Set it to the port on which the server listens.',
    )
  const host = ANY[accountBind] ?? accountBind
  const own = urlOf(host, port)
  const status = await statusOf({ host, port }, new URL(publicUrl ?? own).host)
  if (status === 200) return own
  const what = status === null ? 'does not answer' : `is not ready (HTTP ${status})`
  throw new StartError(
    'daemonSilent',
    `The account server at ${own} ${what}. Start it with "countersignd server", or check its log.`,
  )
}
