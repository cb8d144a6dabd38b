/** Addresses of Unix sockets, for helpers that also accept URLs of ports. */
import { type Socket, connect } from 'node:net'

const SCHEME = 'unix:'

/** Returns the address of a Unix socket. */
export const unixUrl = (path: string): string => SCHEME + path

/** Returns the path in the address of a Unix socket; null for any other address. */
export const pathIn = (address: string): string | null =>
  address.startsWith(SCHEME) ? address.slice(SCHEME.length) : null

/** Returns where `connect` of node:net finds an address: a URL, or that of a Unix socket. */
export function placeAt(address: string): { path: string } | { host: string; port: number } {
  const path = pathIn(address)
  if (path !== null) return { path }
  const { hostname, port } = new URL(address)
  return { host: hostname, port: Number(port) }
}

/** Connects to an address. */
export const connectTo = (address: string, options: { allowHalfOpen?: boolean } = {}): Socket =>
  connect({ ...placeAt(address), ...options })
