/**
 * The API listener: which host names, users and pages it accepts, and how the daemon proves its
 * identity. The address is published for command lines of the daemon's own user, and of all users
 * if the daemon serves the whole machine.
 */
import { consoleTable } from '../api/console/index.ts'
import { rest } from '../api/rest/index.ts'
import { peerCheck } from '../auth/peer.ts'
import { daemonProof } from '../auth/proof.ts'
import type { Config } from '../config/config.ts'
import type { Dispatch, Outcome } from '../http/dispatch.ts'
import { hostsOf, urlOf } from '../http/address.ts'
import { listen, type Listening, type ServerOptions } from '../http/server.ts'
import type { Log } from '../log.ts'
import {
  publish,
  unpublish,
  removeConsolePage,
  removeRuntime,
  type Runtime,
  writeRuntime,
} from '../storage/runtime-file.ts'

/** What the listener needs of the console. */
export type ConsoleDoor = Pick<ServerOptions, 'proofNonce' | 'onWorkerAsked'>

/** The paths with which a program gets a token without having one. */
const TOKEN_PATHS = [rest.token.create.path, consoleTable.consoleCodes.create.path]

/**
 * Listens on the configured address and port.
 * @param of `secret`: the state folder's secret, with which `/health` proves the daemon's identity;
 *   `record`: writes each outcome to the audit log; `consoleDoor`: null if there is no console
 * @throws StartError if the address is in use or cannot be bound
 */
export function listenForApi(
  { bind, port, tokenUsers }: Config,
  of: {
    readonly dispatch: Dispatch
    readonly log: Log
    readonly secret: Uint8Array
    readonly record: (outcome: Outcome) => void
    readonly consoleDoor: ConsoleDoor | null
  },
): Promise<Listening> {
  const { dispatch, log, secret, record, consoleDoor } = of
  // Set once the port is known, because the system chooses it if the configured port is 0.
  let address = ''
  return listen({
    name: 'api',
    bind,
    port,
    log,
    dispatch,
    record,
    ...consoleDoor,
    probe: '/health',
    prove: (nonce) => daemonProof(secret, nonce, address),
    rules: (actualPort) => {
      address = urlOf(bind, actualPort)
      return {
        hosts: hostsOf(bind, actualPort),
        // The file of `countersignd open` is a page of another site.
        navigable: /^\/(?:api\/v1\/docs|console\/open\/\w+)?$/,
        tokenPaths: TOKEN_PATHS,
        pagePath: consoleTable.consoleSession.create.path,
        peerAllowed: peerCheck(tokenUsers),
      }
    },
  })
}

type Folders = Pick<Config, 'stateDir' | 'runtimeDir'>

/** Publishes the daemon's address, so that command lines find the daemon. */
export function announce({ stateDir, runtimeDir }: Folders, runtime: Runtime, log: Log): void {
  // A crash leaves the page of a console. Its code is no longer valid.
  removeConsolePage(stateDir)
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
  removeConsolePage(stateDir)
  removeRuntime(stateDir)
}
