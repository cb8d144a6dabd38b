import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The lowest port that a kernel gives to a process that asks for any (Linux; others begin higher).
 * A connection or a server of another test could take such a port before its use.
 */
const FIRST_GIVEN = 32_768

/** Above the ports of the program and its benches. */
const FIRST = 20_000

/** Returns a loopback port that no process listens on, and that no kernel gives away. */
export async function freePort(): Promise<number> {
  const port = randomInt(FIRST, FIRST_GIVEN)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return freePort()
    throw error
  }
  server.close()
  await once(server, 'close')
  return port
}
