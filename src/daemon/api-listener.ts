/**
 * The API listener: which host names, users and pages it accepts, and how the daemon proves its
 * identity. The address is published for command lines of the daemon's own user, and of all users
 * if the daemon serves the whole machine.
 */
import { consoleTable } from '../api/console/index.ts'
import { rest } from '../api/rest/index.ts'
import { peerCheck } from '../auth/peer.ts'
import { daemonProof, socketAddress } from '../auth/proof.ts'
import type { Config, TokenUsers } from '../config/config.ts'
import { StartError } from '../errors.ts'
import type { Dispatch, Outcome } from '../http/dispatch.ts'
import { type ListeningPlace, hostsOf, portPlace, urlOf } from '../http/address.ts'
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
/** The path with which a page of the console gets a token. */
const PAGE_PATH = consoleTable.consoleSession.create.path

/** What a listener of the API needs from the daemon. */
interface ApiParts {
  readonly dispatch: Dispatch
  readonly log: Log
  /** The state folder's secret, with which `/health` proves the daemon's identity. */
  readonly secret: Uint8Array
  /** Writes each outcome to the audit log. */
  readonly record: (outcome: Outcome) => void
  /** Null if there is no console. */
  readonly consoleDoor: ConsoleDoor | null
}

/** A listener of the API: its URL, or the path of its socket. */
interface Started {
  readonly url: string | null
  readonly socket: string | null
  readonly listening: Listening
}

/** Listens on a port, which browsers can reach too. */
async function listenOnPort(
  bind: string,
  place: ListeningPlace,
  tokenUsers: TokenUsers,
  { dispatch, log, secret, record, consoleDoor }: ApiParts,
): Promise<Started> {
  const url = urlOf(bind, place.port)
  const listening = await listen({
    name: 'api',
    place,
    log,
    dispatch,
    record,
    ...consoleDoor,
    probe: '/health',
    prove: (nonce) => daemonProof(secret, nonce, url),
    rules: (port) => ({
      hosts: hostsOf(bind, port),
      // The file of `countersignd open` is a page of another site.
      navigable: /^\/(?:api\/v1\/docs|console\/open\/\w+)?$/,
      tokenPaths: TOKEN_PATHS,
      pagePath: PAGE_PATH,
      peerAllowed: peerCheck(tokenUsers),
    }),
  })
  return { url, socket: null, listening }
}

/**
 * Listens on a Unix socket. Its owner and mode decide who may connect, so everyone who can may use
 * the token routes. No browser may.
 */
async function listenOnSocket(
  path: string,
  place: ListeningPlace,
  { dispatch, log, secret, record }: ApiParts,
): Promise<Started> {
  const listening = await listen({
    name: 'api',
    place,
    channel: 'socket',
    log,
    dispatch,
    record,
    probe: '/health',
    prove: (nonce) => daemonProof(secret, nonce, socketAddress(path)),
    rules: () => ({
      hosts: null,
      navigable: /^(?!)/,
      tokenPaths: TOKEN_PATHS,
      pagePath: PAGE_PATH,
      peerAllowed: () => true,
    }),
  })
  return { url: null, socket: path, listening }
}

type PortPlace = { readonly bind: string; readonly place: ListeningPlace }
type SocketPlace = { readonly path: string; readonly place: ListeningPlace }

/** Returns the places that the service manager passed. */
async function passedPlaces({ inherited }: Config) {
  const ports: PortPlace[] = []
  const sockets: SocketPlace[] = []
  if (inherited.length > 0) {
    const { inheritedPlace } = await import('../http/inherited.ts')
    for (const place of inherited.map(inheritedPlace))
      if ('bind' in place.at) ports.push({ bind: place.at.bind, place })
      else sockets.push({ path: place.at.path, place })
  }
  return { ports, sockets }
}

/** Returns the places of the API. A port that the service manager passed replaces the own one. */
async function placesOf(config: Config) {
  const { bind, port, socket } = config
  const { ports, sockets } = await passedPlaces(config)
  const [first] = ports
  if (port === null && first !== undefined)
    throw new StartError(
      'configuration',
      `SVC_HTTP_PORT is "off", but the service manager passes the TCP socket ${urlOf(first.bind, first.place.port)}. Remove its ListenStream= from the .socket unit, or unset SVC_HTTP_PORT.`,
    )
  if (socket !== null && sockets.every(({ path }) => path !== socket.path)) {
    const { socketPlace } = await import('../http/unix-socket.ts')
    sockets.push({ path: socket.path, place: socketPlace(socket) })
  }
  if (port === null && sockets.length === 0)
    throw new StartError(
      'configuration',
      'SVC_HTTP_PORT is "off", and there is no Unix socket, so nothing could reach the API. Set SVC_HTTP_SOCKET to an absolute path, start the daemon with a .socket unit, or unset SVC_HTTP_PORT.',
    )
  // Bound last, so that no error above leaves it bound.
  if (port !== null && first === undefined) ports.push({ bind, place: portPlace({ bind, port }) })
  return { ports, sockets }
}

/** Where the daemon answers. */
export interface ApiListening {
  /** The URL of the first port; null if the API does not listen on TCP. */
  readonly address: string | null
  /** The path of the first Unix socket; null if there is none. */
  readonly socket: string | null
  close(graceMs: number): Promise<void>
}

/**
 * Listens on the configured port and Unix socket, and on the sockets of the service manager.
 *
 * Each place has limits of its own, so that a flood of one does not keep the others from answering.
 * @throws StartError if a place is in use, cannot be bound or is not safe
 */
export async function listenForApi(config: Config, parts: ApiParts): Promise<ApiListening> {
  const { ports, sockets } = await placesOf(config)
  const outcomes = await Promise.allSettled([
    ...ports.map(({ bind, place }) => listenOnPort(bind, place, config.tokenUsers, parts)),
    ...sockets.map(({ path, place }) => listenOnSocket(path, place, parts)),
  ])
  const started = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const close = async (graceMs: number) => {
    await Promise.all(started.map(({ listening }) => listening.close(graceMs)))
  }
  const failed = outcomes.find((one) => one.status === 'rejected')
  if (failed !== undefined) {
    await close(0)
    throw failed.reason
  }
  return {
    address: started.find(({ url }) => url !== null)?.url ?? null,
    socket: started.find(({ socket }) => socket !== null)?.socket ?? null,
    close,
  }
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
