/** A port of this machine: taken first, listened on later, so that its number is known in between. */
import { BoundSocket, type Server } from 'node:net'
import { getSystemErrorMessage } from 'node:util'
import { StartError } from '../errors.ts'

/** Where to listen: an address of IPv4 or IPv6, never a name, and a port, or 0 for any that is free. */
export interface Place {
  readonly bind: string
  readonly port: number
}

const notHad = ({ bind, port }: Place, { code, errno, message }: NodeJS.ErrnoException) =>
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
 * Take a port. Whoever does not listen on it then has to close it.
 * @throws StartError where it is taken, or the address cannot be bound
 */
export function takePort(place: Place): BoundSocket {
  try {
    return new BoundSocket({ host: place.bind, port: place.port })
  } catch (error) {
    throw notHad(place, error as NodeJS.ErrnoException)
  }
}

/**
 * Let a server listen on the port that was taken for it.
 * @throws StartError where another program, which took it too, listened first
 */
export const listenOn = (server: Server, taken: BoundSocket, place: Place): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => reject(notHad(place, error)))
    server.listen(taken, resolve)
  })
