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
  const rows = listing
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((cells) => cells[1] === client && cells[2] === server)
  const [row] = rows
  if (rows.length !== 1 || row === undefined) return null
  const [, , , state, , , , uid, , inode] = row
  return state === ESTABLISHED && inode !== '0' ? Number(uid) : null
}

/** RFC 4291 section 2.5.5.2: what stands before an IPv4 address in an IPv6 socket, as `/proc/net/tcp6` writes it. */
const MAPPED = '0000000000000000FFFF0000'

/** Other systems have no such list, and a kernel without IPv6 has no `tcp6`: what cannot be read names nobody. */
const listing = (name: 'tcp' | 'tcp6'): string => {
  try {
    return readFileSync(`/proc/self/net/${name}`, 'latin1')
  } catch {
    return ''
  }
}

/** The uid of the process at the other end, or null when it cannot be told. Linux only. */
export function peerUid(socket: Socket): number | null {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return null
  const client = procAddress(remoteAddress, remotePort)
  const server = procAddress(localAddress, localPort)
  if (remoteAddress.includes(':')) return ownerIn(listing('tcp6'), client, server)
  // Some clients (Java's) speak IPv4 through an IPv6 socket, and are listed there.
  return (
    ownerIn(listing('tcp'), client, server) ??
    ownerIn(listing('tcp6'), MAPPED + client, MAPPED + server)
  )
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
