/** The backend for a remote account server. */
import type { Config } from '../config/config.ts'
import { type Identity, readSession } from '../device/identity/identity.ts'
import { renewing } from '../device/session/session.ts'
import type { Keychain } from '../keychain/backend.ts'
import { readAuthority } from '../remote/transport.ts'
import type { SessionCredentials } from '../remote/credentials.ts'
import { openRemote } from '../remote/remote.ts'
import type { Backend } from './backend.ts'

/**
 * Returns the device's session credentials for the client. They are read at each use, because a
 * sign-in changes them.
 */
const sessionOf = (identity: Identity, keychain: Keychain): SessionCredentials => ({
  key: async () => (await identity.keys()).auth,
  refreshToken: () => readSession(keychain),
})

/**
 * Opens the client of an account server.
 * @throws StartError for an unusable address or authority
 */
export function remoteBackend(
  { config, keychain, now }: { config: Config; keychain: Keychain; now: () => number },
  base: string,
): Backend {
  const remote = openRemote({ base, ca: readAuthority(config.caFile), now })
  const door = remote.door()
  return {
    url: () => base,
    server: base,
    door,
    clock: door.clock,
    accountOf(identity, again) {
      const account = remote.account(sessionOf(identity, keychain))
      return identity.machine ? renewing(account, again) : account
    },
    ready: () => remote.ready(),
    async askMachine(token) {
      const account = remote.bearer(token)
      const { token_id, scope } = await account.bearer.read({})
      return { id: token_id, scope, account }
    },
    enrol: null,
    listen: null,
    stop: () => remote.close(),
    close: async () => remote.close(),
  }
}
