/**
 * Compares the running daemon with this program, which may have been updated since the daemon
 * started. The two share the interface of the command line only if they use the same state.
 */
import { StartError } from '../errors.ts'
import { STATE_VERSIONS } from '../state/migrations.ts'
import { BEGIN_ANEW } from '../storage/migrations.ts'
import type { DaemonConnection } from './daemon-connection.ts'

/**
 * Checks that a daemon uses the version of the state that this program has. Closes the connection
 * otherwise.
 * @throws StartError `stateOlder` or `stateNewer`
 */
export function requireSameVersion(connection: DaemonConnection): void {
  const { pid, stateVersion } = connection.run
  const { first, newest } = STATE_VERSIONS
  if (stateVersion === newest) return
  connection.close()
  const daemon = `The running daemon (process ${pid})`
  if (stateVersion === null || stateVersion < first)
    throw new StartError(
      'stateOlder',
      `${daemon} is a countersignd from before the first release. Nothing was sent to it. Stop it: kill ${pid}. ${BEGIN_ANEW}`,
    )
  const versions = `(state version ${stateVersion}, this one has ${newest})`
  if (stateVersion < newest)
    throw new StartError(
      'stateOlder',
      `${daemon} is older than this program ${versions}. Nothing was sent to it. Stop it, and start this version: kill ${pid}; countersignd serve`,
    )
  throw new StartError(
    'stateNewer',
    `${daemon} is newer than this program ${versions}. Nothing was sent to it. Update countersignd, or stop the daemon and use another SVC_STATE_DIR.`,
  )
}
