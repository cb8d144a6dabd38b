/**
 * Binds a port of this machine before a server listens on it, so that its number is known in
 * between.
 */
import { BoundSocket, type Server } from 'node:net'
import { getSystemErrorMessage } from 'node:util'
import { StartError } from '../errors.ts'

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
