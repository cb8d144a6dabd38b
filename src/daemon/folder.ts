/** May this daemon work on this state folder? Only for the account server that its account is of. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Identity } from '../device/identity/identity.ts'
import { StartError } from '../errors.ts'
import { lost } from '../storage/database-file.ts'

type Folder = Pick<Config, 'stateDir' | 'backendUrl' | 'databaseUrl'>

/**
 * Refuse a folder whose account is not of the account server that is configured: to mix them up would look like a loss of
 * everything, or show one server what is another's. And one whose embedded account has no database any more.
 * @throws StartError configuration, or failed where the database is gone
 */
export function demandSameServer(
  folder: Folder,
  held: Pick<Identity, 'account' | 'server'> | null,
): void {
  if (held === null) return
  const { stateDir, backendUrl } = folder
  if (held.server !== backendUrl)
    throw new StartError('configuration', otherServer(stateDir, held, backendUrl))
  if (backendUrl === null) demandAccount(folder)
}

// The account server would begin with a new one, in which nobody knows this device.
function demandAccount({ stateDir, databaseUrl }: Folder): void {
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
      `The state folder ${stateDir} holds the embedded account ${account}, but the account server ${configured} is configured. ` +
      `Unset SVC_BACKEND_URL and SVC_ENV to go on with that account, or ${elsewhere} and sign in there.`
    )
  const held = `The state folder ${stateDir} holds the account ${account} of the account server ${server}, but `
  if (configured === null)
    return `${held}none is configured. Set SVC_BACKEND_URL to ${server}, or ${elsewhere}.`
  return (
    `${held}${configured} is configured. Set SVC_BACKEND_URL to ${server} to go on with that account, or ${elsewhere} and ` +
    `sign in to ${configured} there. A server that moves to another machine keeps its name, which its devices trust.`
  )
}
