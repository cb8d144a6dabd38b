import type { Config } from '../config/config.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { Log } from '../log.ts'
import type { Backend } from './backend.ts'

/**
 * Opens the account server that the configuration names.
 * @throws StartError if the account server, or the client for it, cannot be opened
 */
export async function openBackend(of: {
  config: Config
  keychain: Keychain
  now: () => number
  log: Log
}): Promise<Backend> {
  const { backendUrl } = of.config
  if (backendUrl === null) {
    const { embeddedBackend } = await import('./embedded.ts')
    return embeddedBackend(of)
  }
  const { remoteBackend } = await import('./remote.ts')
  return remoteBackend(of, backendUrl)
}
