/** The names of a listener: its local URL and the Host values that it accepts. */
import { isLoopback } from '../config/values.ts'

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
