/**
 * The embedded account server, which runs inside the daemon. Its database is in the state folder
 * unless PostgreSQL is configured, and its account needs no sign-in.
 */
import { join } from 'node:path'
import type { Scope } from '../auth/scopes.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { ownNames } from '../device/system-names.ts'
import { listenForAccount } from '../http/account-listener.ts'
import { urlOf } from '../http/address.ts'
import { actingAccount } from '../service/calls.ts'
import { openService } from '../service/service.ts'
import { VERSION } from '../runtime/version.ts'
import type { Backend } from './backend.ts'

/**
 * Opens the account server.
 * @throws StartError as `openService` does
 */
export async function embeddedBackend(of: {
  config: Config
  now: () => number
  log: Log
}): Promise<Backend> {
  const { config, now, log } = of
  const { stateDir, databaseUrl, accountBind } = config
  const { place } = config.mail
  let url = config.publicUrl ?? urlOf(accountBind, config.accountPort)
  const server = await openService({
    url: databaseUrl,
    file: join(stateDir, 'account.db'),
    database: config.database,
    publicUrl: () => url,
    version: VERSION,
    now,
    mail: place,
    // A folder that the operator configured may contain files that other programs wrote.
    ownsMail: 'dir' in place && place.dir === join(stateDir, 'mail'),
    from: config.mail.from,
    mailedCodes: config.mailedCodes,
    retention: config.retention,
    assistant: config.assistant,
    log,
  })
  const door = server.door({ key: null, within: true })
  return {
    url: () => url,
    server: null,
    door,
    clock: 'own',
    accountOf: ({ account, device, session }) =>
      actingAccount(server, { account, device, session, token: null }),
    ready: () => server.open.siteHealth.ready({}, { key: null, within: true }),
    async askMachine(token) {
      const caller = await server.authenticate({ token, proof: null })
      return {
        id: caller.token as string,
        scope: caller.scope as Scope,
        account: actingAccount(server, caller),
      }
    },
    async enrol(state, keychain) {
      const { enrol } = await import('../device/session/enrolment.ts')
      return enrol(state, keychain, door, server.newEnrolmentCode, ownNames(), now())
    },
    async listen() {
      const listening = await listenForAccount(config, { server, log })
      const address = urlOf(accountBind, listening.port)
      url = config.publicUrl ?? address
      const close = (graceMs: number) => {
        // Ends the streams, which the listener would wait for.
        server.drain()
        return listening.close(graceMs)
      }
      return { address, close }
    },
    stop: () => undefined,
    close: () => server.close(),
  }
}
