/**
 * Who is at the other end of a loopback connection. TCP carries no credentials, but Linux lists the owner of every socket;
 * elsewhere the token route stands on the loopback bind alone, as the interface says.
 */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { TokenUsers } from '../config.ts'
import { StartError } from '../errors.ts'

const ESTABLISHED = '01'

/** An address and port as `/proc/net/tcp` writes them: 32-bit words in host byte order (little-endian), the port in hex. */
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
 * The uid that owns the client's end in a socket listing (the text of `/proc/net/tcp` or `tcp6`), or null.
 * A client that closed its socket shows uid 0 and inode 0: only one live row counts, so it is nobody.
 */
export function ownerIn(listing: string, client: string, server: string): number | null {
  const ends = ` ${client} ${server} `
  const at = listing.indexOf(ends)
  if (at === -1 || listing.indexOf(ends, at + 1) !== -1) return null
  // What stands before is the heading.
  if (listing.lastIndexOf('\n', at) === -1) return null
  const end = listing.indexOf('\n', at)
  const cells = listing.slice(at + ends.length, end === -1 ? undefined : end).split(/ +/)
  const [state, , , , uid, , inode] = cells
  return state === ESTABLISHED && inode !== '0' ? Number(uid) : null
}

/** RFC 4291 section 2.5.5.2: what stands before an IPv4 address in an IPv6 socket, as `/proc/net/tcp6` writes it. */
const MAPPED = '0000000000000000FFFF0000'

type Listing = 'tcp' | 'tcp6'
const pathOf = (name: Listing) => `/proc/self/net/${name}`

/** Where the client's end of a connection may be listed, in order. */
function placesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket) {
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return []
  const client = procAddress(remoteAddress, remotePort)
  const server = procAddress(localAddress, localPort)
  const wide = { name: 'tcp6', client, server } as const
  if (remoteAddress.includes(':')) return [wide]
  // Some clients (Java's) speak IPv4 through an IPv6 socket, and are listed there.
  const mapped = { name: 'tcp6', client: MAPPED + client, server: MAPPED + server } as const
  return [{ name: 'tcp', client, server } as const, mapped]
}

/** Other systems have no such list, and a kernel without IPv6 has no `tcp6`: what cannot be read names nobody. */
function listing(name: Listing): string {
  try {
    return readFileSync(pathOf(name), 'latin1')
  } catch {
    return ''
  }
}

/** The uid of the process at the other end, or null when it cannot be told. Linux only. */
export function peerUid(socket: Socket): number | null {
  for (const { name, client, server } of placesOf(socket)) {
    const uid = ownerIn(listing(name), client, server)
    if (uid !== null) return uid
  }
  return null
}

/** Read something that takes a while: one reading at a time, and each for all who asked before it began. */
function newReader(read: () => Promise<string>): () => Promise<string> {
  let running: Promise<string> | null = null
  let next: Promise<string> | null = null
  const begin = (): Promise<string> => {
    next = null
    running = read().finally(() => {
      running = null
    })
    return running
  }
  // The one that runs may have passed the place already.
  return () => (running === null ? begin() : (next ??= running.then(begin)))
}

async function readListing(name: Listing): Promise<string> {
  // Loaded here: a start does not need it, and it takes as long as making a server.
  const { readFile } = await import('node:fs/promises')
  return readFile(pathOf(name), 'latin1').catch(() => '')
}

const readers = Object.fromEntries(
  (['tcp', 'tcp6'] as const).map((name) => [name, newReader(() => readListing(name))]),
) as Record<Listing, () => Promise<string>>

/** As `peerUid`, without holding up anybody else: the list may be long. */
export async function askPeerUid(socket: Socket): Promise<number | null> {
  if (process.platform !== 'linux') return null
  for (const { name, client, server } of placesOf(socket)) {
    const uid = ownerIn(await readers[name](), client, server)
    if (uid !== null) return uid
  }
  return null
}

/** The uids that user names (or decimal uids) stand for, read from the text of `/etc/passwd`. Throws StartError for an unknown name. */
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

/** The check of the token route: true where the peer may use it. The daemon's own user and root always may. */
export function peerCheck(users: TokenUsers): (socket: Socket) => boolean {
  if ('any' in users || process.platform !== 'linux') return () => true
  const allowed = new Set([
    0,
    process.getuid?.() ?? 0,
    ...(users.names.length === 0 ? [] : uidsOf(users.names, readFileSync('/etc/passwd', 'utf8'))),
  ])
  return (socket) => {
    const uid = peerUid(socket)
    return uid !== null && allowed.has(uid)
  }
}
