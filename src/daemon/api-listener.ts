/**
 * The API listener: which host names, users and pages it accepts, and how the daemon proves its
 * identity. The address is published for command lines of the daemon's own user, and of all users
 * if the daemon serves the whole machine.
 */
import { peerCheck } from '../auth/peer.ts'
import { daemonProof } from '../auth/proof.ts'
import type { Config } from '../config/config.ts'
import type { Dispatch, Outcome } from '../http/dispatch.ts'
import { hostsOf, urlOf } from '../http/address.ts'
import { listen, type Listening } from '../http/server.ts'
import type { Log } from '../log.ts'
import {
  publish,
  unpublish,
  removeRuntime,
  type Runtime,
  writeRuntime,
} from '../storage/runtime-file.ts'

/**
 * Listens on the configured address and port.
 * @param of `secret`: the state folder's secret, with which `/health` proves the daemon's identity;
 *   `record`: writes each outcome to the audit log
 * @throws StartError if the address is in use or cannot be bound
 */
export function listenForApi(
  { bind, port, tokenUsers }: Config,
  of: {
    readonly dispatch: Dispatch
    readonly log: Log
    readonly secret: Uint8Array
    readonly record: (outcome: Outcome) => void
  },
): Promise<Listening> {
  const { dispatch, log, secret, record } = of
  // Set once the port is known, because the system chooses it if the configured port is 0.
  let address = ''
  return listen({
    bind,
    port,
    log,
    dispatch,
    record,
    probe: '/health',
    prove: (nonce) => daemonProof(secret, nonce, address),
    rules: (actualPort) => {
      address = urlOf(bind, actualPort)
      return {
        hosts: hostsOf(bind, actualPort),
        navigable: /^\/(?:api\/v1\/docs)?$/,
        tokenPath: '/api/v1/token',
        peerAllowed: peerCheck(tokenUsers),
      }
    },
  })
}

type Folders = Pick<Config, 'stateDir' | 'runtimeDir'>

/** Publishes the daemon's address, so that command lines find the daemon. */
export function announce({ stateDir, runtimeDir }: Folders, runtime: Runtime, log: Log): void {
  writeRuntime(stateDir, runtime)
  if (runtimeDir === null) return
  try {
    publish(runtimeDir, runtime)
  } catch (cause) {
    log('warn', 'other users of this machine cannot find the daemon', { cause, runtimeDir })
  }
}

/** Removes what `announce` published. */
export function withdrawAnnouncement({ stateDir, runtimeDir }: Folders): void {
  if (runtimeDir !== null) unpublish(runtimeDir)
  removeRuntime(stateDir)
}
