/**
 * Finds the user at the other end of a loopback connection.
 *
 * TCP carries no credentials, but Linux lists the owner of every socket. On other systems the token
 * route is protected only by the loopback bind, as the API documents.
 */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { TokenUsers } from '../config/config.ts'
import { StartError } from '../errors.ts'

/** TCP connection states, as Linux numbers them. */
const ESTABLISHED = '01'
const TIME_WAIT = '06'

/**
 * Returns an address and port as `/proc/net/tcp` writes them.
 *
 * The address is written as 32-bit words in host byte order (little-endian), the port in hex.
 */
function procAddress(address: string, port: number): string {
  const bytes = address.includes(':') ? ipv6Bytes(address) : address.split('.').map(Number)
  const words: string[] = []
  for (let i = 0; i < bytes.length; i += 4)
    words.push(
      bytes
        .slice(i, i + 4)
        .reverse()
        .map((byte) => byte.toString(16).padStart(2, '0'))
        .join(''),
    )
  return `${words.join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase()
}

function ipv6Bytes(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((g) => parseInt(g, 16)))
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array<number>(8 - before.length - after.length).fill(0)
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 255])
}

/**
 * Socket owners. The key is the local and the remote address as in the listing, separated by a
 * space.
 */
type Owners = ReadonlyMap<string, number | null>

/**
 * Returns the owner of every socket in a listing (the text of `/proc/net/tcp` or `tcp6`).
 *
 * The owner is a uid, or null if it is unknown. If the client closed a socket, its row has uid 0
 * and inode 0, so only established sockets have an owner here. Two sockets with the same addresses
 * have no owner. The kernel writes the listing in parts and may repeat a row if a socket opens
 * meanwhile, so rows with the same inode are one socket.
 */
export function ownersIn(listing: string): Owners {
  const owners = new Map<string, number | null>()
  /** The inode of the socket with these addresses; null if there are several such sockets. */
  const inodes = new Map<string, string | null | undefined>()
  // The first line is the heading.
  let start = listing.indexOf('\n') + 1
  while (start > 0 && start < listing.length) {
    const from = listing.indexOf(': ', start) + 2
    const to = listing.indexOf(' ', listing.indexOf(' ', from) + 1)
    const next = listing.indexOf('\n', to) + 1
    const state = listing.slice(to + 1, to + 3)
    // A closed connection has no owner, and the listing may have tens of thousands of them.
    if (state !== TIME_WAIT) {
      const ends = listing.slice(from, to)
      const cells = listing.slice(to + 1, next === 0 ? undefined : next - 1).split(/ +/)
      const [, , , , uid, , inode] = cells
      const isAlone = !owners.has(ends) || inodes.get(ends) === inode
      const isLive = state === ESTABLISHED && inode !== '0' && isAlone
      owners.set(ends, isLive ? Number(uid) : null)
      inodes.set(ends, isAlone ? inode : null)
    }
    start = next
  }
  return owners
}

/**
 * The prefix of an IPv4-mapped address in an IPv6 socket, as `/proc/net/tcp6` writes it.
 * @see RFC 4291 section 2.5.5.2
 */
const MAPPED = '0000000000000000FFFF0000'

type Listing = 'tcp' | 'tcp6'
const pathOf = (name: Listing) => `/proc/self/net/${name}`

/**
 * Returns the listings and keys under which to look for the client's end of a connection, in order.
 */
function placesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket) {
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return []
  const client = procAddress(remoteAddress, remotePort)
  const server = procAddress(localAddress, localPort)
  const wide = { name: 'tcp6', ends: `${client} ${server}` } as const
  if (remoteAddress.includes(':')) return [wide]
  // Some clients (for example Java) open IPv6 sockets for IPv4, so Linux lists them in `tcp6`.
  const mapped = { name: 'tcp6', ends: `${MAPPED}${client} ${MAPPED}${server}` } as const
  return [{ name: 'tcp', ends: wide.ends } as const, mapped]
}

/**
 * Returns the text of a listing, or an empty one if it cannot be read.
 *
 * Only Linux has listings, and a kernel without IPv6 has no `tcp6`.
 */
function listing(name: Listing): string {
  try {
    return readFileSync(pathOf(name), 'latin1')
  } catch {
    return ''
  }
}

/** Returns the uid of the process at the other end, or null if unknown. Linux only. */
export function peerUid(socket: Socket): number | null {
  for (const { name, ends } of placesOf(socket)) {
    const uid = ownersIn(listing(name)).get(ends) ?? null
    if (uid !== null) return uid
  }
  return null
}

/**
 * Makes a function that never runs `read` twice at the same time.
 *
 * A call returns the result of a run that started after the call. Calls that wait for the same run
 * share its result.
 */
function newReader<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null
  const begin = (): Promise<T> => {
    next = null
    running = read().finally(() => {
      running = null
    })
    return running
  }
  // The current run may already have read past the row that the caller needs.
  return () => (running === null ? begin() : (next ??= running.then(begin)))
}

async function readListing(name: Listing): Promise<string> {
  // Imported lazily, because the start does not need it and loading it takes as long as creating a
  // server.
  const { readFile } = await import('node:fs/promises')
  return readFile(pathOf(name), 'latin1').catch(() => '')
}

/**
 * The maximum number of readings for one socket. A reading can miss a row if other sockets close at
 * the same time.
 */
const MOST_READINGS = 3

/**
 * Makes a function that looks up uids as `peerUid` does, without blocking the event loop.
 *
 * Concurrent look-ups share one reading.
 * @param read returns the text of a listing
 */
export function newPeerLookup(
  read: (name: Listing) => Promise<string>,
): (socket: Socket) => Promise<number | null> {
  const newListingReader = (name: Listing) => newReader(async () => ownersIn(await read(name)))
  const readers = { tcp: newListingReader('tcp'), tcp6: newListingReader('tcp6') }
  return async (socket) => {
    for (let reading = 0; reading < MOST_READINGS; reading++)
      for (const { name, ends } of placesOf(socket)) {
        const uid = (await readers[name]()).get(ends) ?? null
        if (uid !== null) return uid
      }
    return null
  }
}

/** Does the same as `peerUid` without blocking the event loop. Null except on Linux. */
export const askPeerUid: (socket: Socket) => Promise<number | null> =
  process.platform === 'linux' ? newPeerLookup(readListing) : () => Promise.resolve(null)

/**
 * Returns the uids for a list of user names and decimal uids.
 * @param passwd the text of `/etc/passwd`
 * @throws StartError for an unknown name
 */
export function uidsOf(names: readonly string[], passwd: string): number[] {
  const byName = new Map(
    passwd
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', , uid]) => [name, uid && Number(uid)] as const),
  )
  return names.map((name) => {
    const uid = /^\d+$/.test(name) ? Number(name) : byName.get(name)
    if (typeof uid !== 'number')
      throw new StartError(
        'configuration',
        `SVC_TOKEN_USERS names ${name}, but there is no such user.`,
      )
    return uid
  })
}

/**
 * Returns a function that checks whether the user with a uid may use the token route.
 *
 * The uid is null if it is unknown. The daemon's own user and root are always allowed.
 */
export function peerCheck(users: TokenUsers): (uid: number | null) => boolean {
  if ('any' in users || process.platform !== 'linux') return () => true
  const allowed = new Set([
    0,
    process.getuid?.() ?? 0,
    ...(users.names.length === 0 ? [] : uidsOf(users.names, readFileSync('/etc/passwd', 'utf8'))),
  ])
  return (uid) => uid !== null && allowed.has(uid)
}
