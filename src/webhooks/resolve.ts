/** Resolves host names as the system does, with its hosts file. */
import { lookup } from 'node:dns/promises'

/**
 * How many names are resolved at once. Each occupies a thread of Node's pool, for long if the name
 * server does not answer.
 */
const AT_ONCE = 2

let running = 0
const waiting: (() => void)[] = []

/** Returns all addresses of a host name. */
export async function resolveHost(host: string): Promise<readonly string[]> {
  while (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}
