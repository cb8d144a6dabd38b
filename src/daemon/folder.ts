/** Which account server a state folder belongs to, and whether the configuration agrees. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Identity } from '../device/identity/identity.ts'
import { StartError } from '../errors.ts'
import { lost } from '../storage/database-file.ts'

type Folder = Pick<Config, 'stateDir' | 'backendUrl' | 'databaseUrl'>

/**
 * Returns a configuration with the account server of the state folder, unless the environment
 * chooses one.
 * @param known the origin of the server to which the folder belongs; null if there is none
 */
export const ofFolder = <T extends Partial<Config>>(config: T, known: string | null): T =>
  config.isBackendSet === false && known !== null ? { ...config, backendUrl: known } : config

/**
 * Rejects a state folder with an account of another account server. If the daemon used that folder,
 * all data would seem to be lost, or data of one server would be revealed to the other. Also
 * rejects a folder with an embedded account but without its database file.
 * @throws StartError `configuration` for another server, `failed` if the database is missing
 */
export function requireSameServer(
  folder: Folder,
  stored: Pick<Identity, 'account' | 'server'> | null,
): void {
  if (stored === null) return
  const { stateDir, backendUrl } = folder
  if (stored.server !== backendUrl)
    throw new StartError('configuration', otherServer(stateDir, stored, backendUrl))
  if (backendUrl === null) requireAccount(folder)
}

// If the file is missing, the account server would create a new database, without this device.
function requireAccount({ stateDir, databaseUrl }: Folder): void {
  const path = join(stateDir, 'account.db')
  if (databaseUrl === null && !existsSync(path)) throw lost(path)
}

function otherServer(
  stateDir: string,
  { account, server }: Pick<Identity, 'account' | 'server'>,
  configured: string | null,
): string {
  const elsewhere = 'set SVC_STATE_DIR to another folder'
  if (server === null)
    return (
      `The state folder ${stateDir} holds the embedded account ${account}, but the environment chooses the account server ${configured}. ` +
      `Unset SVC_BACKEND_URL and SVC_ENV to continue with that account. To sign in to ${configured} in this folder, run "countersignd login", which sets that account aside and deletes nothing. ` +
      `To keep both in use, ${elsewhere} and sign in there.`
    )
  const beginning = `The state folder ${stateDir} belongs to the account ${account} of the account server ${server}, but the environment chooses `
  if (configured === null)
    return `${beginning}the embedded account server (SVC_ENV=embedded). Unset SVC_ENV to continue with that account, or ${elsewhere}.`
  return (
    `${beginning}${configured}. Unset SVC_BACKEND_URL and SVC_ENV to continue with that account, or ${elsewhere} and ` +
    `sign in to ${configured} there. A server that moves to another machine must keep its name, because its devices trust that name.`
  )
}
