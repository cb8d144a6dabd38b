/**
 * The address of a listener: its bound port, its local URL, and the Host values that it accepts.
 *
 * A port is bound before a server listens on it, so that the number is known earlier. Unix sockets
 * and sockets of the service manager have modules of their own.
 */
import { BoundSocket, type Server } from 'node:net'
import { getSystemErrorMessage } from 'node:util'
import { isLoopback } from '../config/values.ts'
import { StartError } from '../errors.ts'

const hostOf = (bind: string) => (bind.includes(':') ? `[${bind}]` : bind)

/** Returns the URL of a listener, for use on this machine. */
export const urlOf = (bind: string, port: number): string => `http://${hostOf(bind)}:${port}`

/**
 * Returns the Host values that a listener accepts, each with the origin of the listener's pages.
 *
 * On loopback, the values are the address and `localhost`, both with the port. If there is a public
 * URL, its host is accepted too, because a proxy passes it on. Pages on loopback use only the
 * address: at `localhost`, a browser may reach another program, which listens on `[::1]`.
 */
export function hostsOf(
  bind: string,
  port: number,
  publicUrl: string | null = null,
): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>()
  const { origin } = new URL(urlOf(bind, port))
  for (const name of isLoopback(bind) ? [hostOf(bind), 'localhost'] : []) {
    // On port 80, clients omit the port in Host and Origin (RFC 9110 section 4.2.3).
    const { host } = new URL(`http://${name}:${port}`)
    hosts.set(`${name}:${port}`, origin).set(host, origin)
  }
  if (publicUrl !== null) hosts.set(new URL(publicUrl).host, new URL(publicUrl).origin)
  return hosts
}

/** Where to listen: an IPv4 or IPv6 address (never a name), and a port (0: any free port). */
export interface ListenAddress {
  readonly bind: string
  readonly port: number
}

const notHad = ({ bind, port }: ListenAddress, { code, errno, message }: NodeJS.ErrnoException) =>
  code === 'EADDRINUSE'
    ? new StartError(
        'portTaken',
        `Port ${port} on ${bind} is taken by another program. Stop it, or choose another port with SVC_HTTP_PORT (the API) or SVC_ACCOUNT_PORT (the account server).`,
      )
    : new StartError(
        'configuration',
        `Cannot listen on ${bind} port ${port}: ${errno === undefined ? message : `${getSystemErrorMessage(errno)} (${code}).`}`,
      )

/**
 * Binds a port. The caller must close it if no server listens on it.
 * @throws StartError if the port is taken or the address cannot be bound
 */
export function takePort(place: ListenAddress): BoundSocket {
  try {
    return new BoundSocket({ host: place.bind, port: place.port })
  } catch (error) {
    throw notHad(place, error as NodeJS.ErrnoException)
  }
}

/**
 * Makes a server listen on a port that `takePort` bound.
 * @throws StartError if another program bound the port too and listened first
 */
export const listenOn = (server: Server, taken: BoundSocket, place: ListenAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(notHad(place, error)))
    server.listen(taken, resolve)
  })

/** A place on which one server can listen. Disposing of it releases what no server listens on. */
export interface ListeningPlace extends Disposable {
  /** The port; 0 if the place is a Unix socket. */
  readonly port: number
  /** @throws StartError */
  listen(server: Server): Promise<void>
}

/**
 * Binds a port as a place to listen on.
 * @throws StartError as `takePort`
 */
export function portPlace(address: ListenAddress): ListeningPlace {
  const taken = takePort(address)
  return {
    port: taken.address().port,
    listen: (server) => listenOn(server, taken, address),
    [Symbol.dispose]: () => taken[Symbol.dispose](),
  }
}
