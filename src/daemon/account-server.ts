/**
 * Starts a standalone account server, which serves many daemons. Any number of replicas can share
 * one database.
 */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { listenForAccount } from '../http/account-listener.ts'
import { urlOf } from '../http/address.ts'
import { listenForMetrics, metricsDispatch } from '../http/metrics-listener.ts'
import { prepareMail } from '../service/mail/mail.ts'
import { openService } from '../service/service.ts'
import { takeLock } from '../storage/lock.ts'
import { VERSION } from '../runtime/version.ts'

/** A caller that has proven nothing. */
const ANYONE = { key: null, within: true } as const

/** How long a stop waits for requests in progress, in milliseconds. */
const GRACE_MS = 5_000

/**
 * Opens the account server and starts its listener. The server locks its state folder, which
 * contains the SQLite database and the mail unless configured otherwise. Each replica needs its own
 * state folder.
 * @returns `address`: the URL of the bound address; `drain` reports that the server is not ready,
 *   and waits as long as configured; `close` waits up to five seconds for requests in progress
 * @throws StartError if anything prevents the start
 */
export async function serveAccount(
  config: Config,
  log: Log,
): Promise<{ address: string; drain(): Promise<void>; close(): Promise<void> }> {
  const { stateDir, accountBind, databaseUrl } = config
  const lock = takeLock(stateDir)
  const closers: (() => void | Promise<void>)[] = [() => lock.release()]
  const close = async () => {
    for (const closer of closers.splice(0).toReversed())
      try {
        await closer()
      } catch (cause) {
        // The other resources must still be closed, above all the lock.
        log('error', 'could not close cleanly', { cause })
      }
  }
  try {
    let address = urlOf(accountBind, config.accountPort)
    const server = await openService({
      url: databaseUrl,
      file: join(stateDir, 'account.db'),
      database: config.database,
      publicUrl: () => config.publicUrl ?? address,
      mail: config.mail.place,
      from: config.mail.from,
      mailedCodes: config.mailedCodes,
      retention: config.retention,
      assistant: config.assistant,
      log,
      version: VERSION,
      now: Date.now,
    })
    closers.push(() => server.close())
    // Prepared only after the database has opened, so that the mail folder stays unchanged if the
    // database is of another version.
    await prepareMail(config.mail.place)
    const read = async (accept: string) => {
      // Renews what the metrics show of the dependencies.
      await server.open.siteHealth.ready({}, ANYONE).catch(() => undefined)
      const { exposition } = await import('../metrics/exposition.ts')
      return exposition(accept)
    }
    const { token, port } = config.metrics
    if (port !== null) {
      const own = await listenForMetrics({ token, port }, { read, log })
      closers.push(() => own.close(GRACE_MS))
      log('info', 'listening for metrics', { address: `${urlOf('127.0.0.1', own.port)}/metrics` })
    }
    const metrics = port === null && token !== null ? metricsDispatch(token, read) : null
    const listening = await listenForAccount(config, { server, log, metrics })
    closers.push(
      () => listening.close(GRACE_MS),
      // Ends the streams, which the listener would wait for.
      () => server.drain(),
    )
    address = urlOf(accountBind, listening.port)
    log('info', 'listening', {
      account_address: address,
      public_url: config.publicUrl ?? address,
      database: databaseUrl === null ? 'sqlite' : 'postgresql',
      version: VERSION,
    })
    const drain = async () => {
      server.drain()
      await setTimeout(config.drainMs)
    }
    return { address, drain, close }
  } catch (error) {
    await close()
    throw error
  }
}
