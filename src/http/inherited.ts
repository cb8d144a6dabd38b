/**
 * The sockets that systemd passes to the daemon (sd_listen_fds(3)).
 *
 * Linux lists every socket with its state and its address. So a descriptor is checked before the
 * server uses it: Node would also start to listen on a socket that does not listen yet, on any
 * address.
 */
import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import type { Server } from 'node:net'
import type { InheritedDescriptor } from '../config/sockets.ts'
import { isLoopback } from '../config/values.ts'
import { StartError } from '../errors.ts'
import { type ListeningPlace, urlOf } from './address.ts'
import { BACKLOG, requireSocketFolder } from './unix-socket.ts'

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTENS = '0A'
/** The flag of a listening socket, and the type of a stream, in `/proc/net/unix`. */
const ACCEPTS = 0x1_00_00
const STREAM = '0001'

/** Where an inherited socket listens. */
export type InheritedAddress =
  { readonly bind: string; readonly port: number } | { readonly path: string }

/**
 * Returns the literal address for the hexadecimal words of `/proc/net/tcp` and `tcp6`; each word is
 * little-endian.
 */
function literal(hex: string): string {
  const bytes = Buffer.from(hex, 'hex')
  bytes.swap32()
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16))
  // The only IPv6 address of loopback is written in its short form (RFC 5952).
  return groups.join(':') === '0:0:0:0:0:0:0:1' ? '::1' : groups.join(':')
}

/** A row of `/proc/net/unix`: its flags, type, inode and path. */
const UNIX_ROW = /^\w+: \w+ \w+ (\w+) (\w+) \w+ +(\d+) ?(.*)$/

/** The text of the kernel's lists of sockets. */
interface SocketLists {
  readonly tcp: string
  readonly tcp6: string
  readonly unix: string
}

/**
 * Returns where the socket with an inode listens; null if no listening stream socket has it.
 * @throws StartError if it is not certain
 * @see proc_net(5)
 */
export function listeningAt(inode: string, lists: SocketLists): InheritedAddress | null {
  for (const line of [...lists.tcp.split('\n'), ...lists.tcp6.split('\n')]) {
    const [, local = '', , state, , , , , , own] = line.trim().split(/\s+/)
    if (own !== inode || state !== LISTENS) continue
    const [address = '', port = ''] = local.split(':')
    return { bind: literal(address), port: Number.parseInt(port, 16) }
  }
  // The kernel may repeat a row if another socket opens meanwhile. It writes a line feed in a path
  // unchanged, so the path of another program's socket can contain a forged row.
  const rows = new Map<string, readonly string[]>()
  for (const line of lists.unix.split('\n')) {
    const [, flags = '', type = '', own, path = ''] = UNIX_ROW.exec(line) ?? []
    if (own === inode) rows.set([flags, type, path].join(' '), [flags, type, path])
  }
  if (rows.size > 1)
    throw new StartError(
      'configuration',
      `/proc/net/unix has ${rows.size} different rows for one socket of the service manager, so another program forges a row: the path of its own socket contains a line feed. Find the program with "ss -xlp", and stop it.`,
    )
  const [[flags = '', type, path = ''] = []] = rows.values()
  const accepts = type === STREAM && (Number.parseInt(flags, 16) & ACCEPTS) !== 0
  return accepts ? { path } : null
}

const listing = (name: string): string => {
  try {
    return readFileSync(`/proc/self/net/${name}`, 'utf8')
  } catch {
    // A kernel without IPv6 has no `tcp6`.
    return ''
  }
}

function inodeOf(fd: number): string | null {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? null
  } catch {
    return null
  }
}

/**
 * Checks that a socket of systemd admits only the daemon's user, root and one group.
 *
 * Without SocketMode=, systemd admits every user of the machine.
 */
function checkSocketFile(path: string, refuse: (why: string) => StartError): void {
  if (!path.startsWith('/'))
    throw refuse(`has no path, so every user could connect. Use ListenStream=/a/path.`)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSocket() !== true) throw refuse(`listens on ${path}, where no socket is any more.`)
  const owners = [0, process.geteuid?.() ?? 0]
  if (!owners.includes(stat.uid))
    throw refuse(`listens on ${path}, which belongs to user ${stat.uid}. Correct SocketUser=.`)
  if ((stat.mode & 0o002) !== 0)
    throw refuse(
      `listens on ${path}, to which every user can connect. Set SocketMode=0600, or SocketMode=0660 with SocketGroup=.`,
    )
  requireSocketFolder(path)
}

export type InheritedPlace = ListeningPlace & { readonly at: InheritedAddress }

/**
 * Returns an inherited socket as a place to listen on.
 * @throws StartError if the descriptor is not a listening stream socket, or other users or machines
 *   could reach it
 */
export function inheritedPlace({ fd, name }: InheritedDescriptor): InheritedPlace {
  const refuse = (why: string) =>
    new StartError('configuration', `The passed descriptor ${fd} (${name}) ${why}`)
  const inode = inodeOf(fd)
  const lists = { tcp: listing('tcp'), tcp6: listing('tcp6'), unix: listing('unix') }
  const at = inode === null ? null : listeningAt(inode, lists)
  if (at === null)
    throw refuse(
      'is not a listening stream socket. In the .socket unit, use only ListenStream=, and Accept=no.',
    )
  if ('path' in at) checkSocketFile(at.path, refuse)
  else if (!isLoopback(at.bind))
    throw refuse(
      `listens on ${urlOf(at.bind, at.port)}, which other machines may reach. Use ListenStream=127.0.0.1:${at.port}.`,
    )
  return {
    at,
    port: 'path' in at ? 0 : at.port,
    listen: (server: Server) =>
      new Promise((resolve, reject) => {
        server.once('error', (cause) => reject(refuse(`cannot be used (${String(cause)}).`)))
        server.listen({ fd, backlog: BACKLOG }, resolve)
      }),
    [Symbol.dispose]: () => undefined,
  }
}
