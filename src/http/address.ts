/**
 * Where a listener is: its port, bound before a server listens on it so that its number is known in
 * between; its local URL; and the Host values that it accepts.
 */
import { BoundSocket, type Server } from 'node:net'
import { getSystemErrorMessage } from 'node:util'
import { isLoopback } from '../config/values.ts'
import { StartError } from '../errors.ts'

const hostOf = (bind: string) => (bind.includes(':') ? `[${bind}]` : bind)

/** Returns the URL of a listener on this machine. */
export const urlOf = (bind: string, port: number): string => `http://${hostOf(bind)}:${port}`

/**
 * Returns the Host values that a listener accepts, each with the origin of its own pages. On
 * loopback these are the address and `localhost`, with the port; then the host of its public
 * address, which a proxy in front passes on. Pages on loopback use the address alone, because a
 * browser may reach another program at `localhost`, on `[::1]`.
 */
export function hostsOf(
  bind: string,
  port: number,
  publicUrl: string | null = null,
): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>()
  const { origin } = new URL(urlOf(bind, port))
  for (const name of isLoopback(bind) ? [hostOf(bind), 'localhost'] : []) {
    // On port 80 clients omit the port in Host and Origin (RFC 9110 section 4.2.3).
    const { host } = new URL(`http://${name}:${port}`)
    hosts.set(`${name}:${port}`, origin).set(host, origin)
  }
  if (publicUrl !== null) hosts.set(new URL(publicUrl).host, new URL(publicUrl).origin)
  return hosts
}

/** Where to listen: an IPv4 or IPv6 address, never a name, and a port, or 0 for any free port. */
export interface ListenAddress {
  readonly bind: string
  readonly port: number
}

const notHad = ({ bind, port }: ListenAddress, { code, errno, message }: NodeJS.ErrnoException) =>
  code === 'EADDRINUSE'
    ? new StartError(
        'portTaken',
        `Port ${port} on ${bind} is taken by another program. Stop it, or choose another port.`,
      )
    : new StartError(
        'configuration',
        `Cannot listen on ${bind} port ${port}: ${errno === undefined ? message : `${getSystemErrorMessage(errno)} (${code}).`}`,
      )

/**
 * Binds a port. A caller that does not listen on it must close it.
 * @throws StartError if it is taken, or the address cannot be bound
 */
export function takePort(place: ListenAddress): BoundSocket {
  try {
    return new BoundSocket({ host: place.bind, port: place.port })
  } catch (error) {
    throw notHad(place, error as NodeJS.ErrnoException)
  }
}

/**
 * Makes a server listen on the port that was bound for it.
 * @throws StartError if another program, which bound it too, listened first
 */
export const listenOn = (server: Server, taken: BoundSocket, place: ListenAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(notHad(place, error)))
    server.listen(taken, resolve)
  })
