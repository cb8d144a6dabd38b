/** By which names a listener is called. */
import { isLoopback } from '../config/values.ts'

const hostOf = (bind: string) => (bind.includes(':') ? `[${bind}]` : bind)

/** Where a listener is reached from this machine. */
export const urlOf = (bind: string, port: number): string => `http://${hostOf(bind)}:${port}`

/**
 * The Host values that a listener answers to, each with the origin of its own pages: on loopback the address and `localhost`, with
 * the port; and that of its public address, which a proxy before it passes on. Pages have the address alone: what a browser
 * finds at `localhost` may be somebody else, at `[::1]`.
 */
export function hostsOf(
  bind: string,
  port: number,
  publicUrl: string | null = null,
): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>()
  const { origin } = new URL(urlOf(bind, port))
  for (const name of isLoopback(bind) ? [hostOf(bind), 'localhost'] : []) {
    // On port 80 clients leave the port out of Host and Origin (RFC 9110 section 4.2.3).
    const { host } = new URL(`http://${name}:${port}`)
    hosts.set(`${name}:${port}`, origin).set(host, origin)
  }
  if (publicUrl !== null) hosts.set(new URL(publicUrl).host, new URL(publicUrl).origin)
  return hosts
}
