/** May this daemon work on this state folder? Only alone, and only for the account that the folder holds. */
import type { Config } from '../config.ts'
import type { Identity } from '../device/identity.ts'
import { StartError } from '../errors.ts'
import { openFolder } from '../state/folder.ts'
import { type Lock, lockState } from '../state/lock.ts'
import { readRuntime } from '../state/runtime.ts'

/** Take the lock of a state folder. Throws StartError: stateInUse, and as `openFolder` does. */
export function takeLock(dir: string): Lock {
  openFolder(dir)
  const lock = lockState(dir)
  if (lock !== null) return lock
  const address = readRuntime(dir)?.address
  throw new StartError(
    'stateInUse',
    `The state folder ${dir} is in use by another countersignd${address ? ` at ${address}` : ''}. Stop it, or set SVC_STATE_DIR to another folder.`,
  )
}

/**
 * Refuse a folder whose account is not of the account server that is configured: to mix them up would look like a loss of
 * everything, or show one server what is another's.
 * @throws StartError configuration
 */
export function demandSameServer(
  { stateDir, backendUrl }: Pick<Config, 'stateDir' | 'backendUrl'>,
  held: Pick<Identity, 'account' | 'embedded'> | null,
): void {
  if (held === null || held.embedded === (backendUrl === null)) return
  throw new StartError(
    'configuration',
    held.embedded
      ? `The state folder ${stateDir} holds the embedded account ${held.account}, but the account server ${backendUrl} is configured. ` +
          'Unset SVC_BACKEND_URL and SVC_ENV to go on with that account, or set SVC_STATE_DIR to another folder and sign in there.'
      : `The state folder ${stateDir} holds the account ${held.account} of an account server, but none is configured. ` +
          'Set SVC_BACKEND_URL to the address of that server, or SVC_STATE_DIR to another folder.',
  )
}
