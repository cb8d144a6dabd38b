/**
 * The Unix socket of the API. Its owner and its mode decide who may connect: the daemon's user, and
 * the members of one group if there is one.
 */
import { chmodSync, chownSync, lstatSync, readFileSync, renameSync, unlinkSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { type Server, connect } from 'node:net'
import { dirname } from 'node:path'
import type { SocketConfig } from '../config/sockets.ts'
import { StartError } from '../errors.ts'
import { foreignOnWay } from '../storage/owned-folder.ts'
import type { ListeningPlace } from './address.ts'

/**
 * The number of connections that wait for the server. Over TCP a client waits longer if there are
 * more, but here its `connect` fails at once.
 */
export const BACKLOG = 2048

const fault = (message: string, cause?: unknown) => new StartError('configuration', message, cause)

const codeOf = (cause: unknown) => (cause as NodeJS.ErrnoException).code ?? String(cause)

const self = () => process.geteuid?.() ?? 0

/**
 * Checks that only root and the daemon's user can replace a socket.
 * @throws StartError
 */
export function requireSocketFolder(path: string): void {
  const folder = dirname(path)
  let foreign: string | null
  try {
    foreign = foreignOnWay(folder, [0, self()])
  } catch (cause) {
    throw fault(
      `The folder ${folder} of the socket cannot be used (${codeOf(cause)}). Create it as the daemon's user with mode 0700, or 0755 for a socket of a group.`,
      cause,
    )
  }
  if (foreign !== null)
    throw fault(
      `Other users can write to ${foreign} or own it, so any of them could replace the socket ${path}. Put the socket into a folder that only the daemon's user or root can change.`,
    )
}

/**
 * Returns the gid of a group.
 * @param named its name or gid
 * @param groups the text of `/etc/group`
 * @throws StartError for an unknown name
 */
export function gidOf(named: string, groups: string): number {
  if (/^\d+$/.test(named)) return Number(named)
  for (const line of groups.split('\n')) {
    const [name, , gid] = line.split(':')
    if (name === named && gid) return Number(gid)
  }
  throw fault(`SVC_HTTP_SOCKET_GROUP is ${JSON.stringify(named)}, but there is no such group.`)
}

const taken = (path: string) =>
  new StartError(
    'portTaken',
    `Another program listens on the socket ${path}. Stop it, or choose another path with SVC_HTTP_SOCKET.`,
  )

/** Returns whether a program listens on a socket. */
const isListening = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (cause) => {
      const code = codeOf(cause)
      // A full queue of connections means that a program listens.
      if (code === 'EAGAIN') resolve(true)
      else if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false)
      else reject(fault(`Cannot find out whether a program listens on ${path} (${code}).`, cause))
    })
  })

/** Returns the path to which a file at a path is moved while it is looked at or kept. */
const asideOf = (path: string) => `${path}.${process.pid}`

/**
 * Removes a socket on which no program listened.
 *
 * Another daemon may have replaced the socket since that was checked. Then its socket is put back.
 * @param seen the socket that was checked
 * @throws StartError
 */
export function removeStaleSocket(path: string, seen: Stats): void {
  const aside = asideOf(path)
  renameSync(path, aside)
  const { ino, mtimeMs } = lstatSync(aside)
  if (ino === seen.ino && mtimeMs === seen.mtimeMs) {
    unlinkSync(aside)
    return
  }
  renameSync(aside, path)
  throw taken(path)
}

/**
 * Frees the path for a new socket: removes the socket that a killed daemon left.
 * @throws StartError if anything else is there, or a program listens
 */
async function free(path: string): Promise<void> {
  const seen = lstatSync(path, { throwIfNoEntry: false })
  if (seen === undefined) return
  if (!seen.isSocket())
    throw fault(
      `${path} exists and is not a socket, so it is not replaced. Move it away, or choose another path with SVC_HTTP_SOCKET.`,
    )
  if (seen.uid !== self())
    throw fault(
      `The socket ${path} belongs to user ${seen.uid}, so it is not replaced. Remove it, or choose another path with SVC_HTTP_SOCKET.`,
    )
  if (await isListening(path)) throw taken(path)
  removeStaleSocket(path, seen)
}

const bound = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const isTaken = codeOf(cause) === 'EADDRINUSE'
      reject(isTaken ? taken(path) : fault(`Cannot listen on ${path} (${codeOf(cause)}).`, cause))
    })
    // Other users must not be able to connect before the mode is set.
    const before = process.umask(0o077)
    try {
      server.listen({ path, backlog: BACKLOG }, resolve)
    } finally {
      process.umask(before)
    }
  })

/** Gives the new socket to the group. Until then, only the daemon's user can connect. */
function open(path: string, gid: number | null): void {
  if (gid === null) {
    chmodSync(path, 0o600)
    return
  }
  try {
    chownSync(path, -1, gid)
  } catch (cause) {
    throw fault(
      `Cannot give the socket ${path} to group ${gid} (${codeOf(cause)}). The daemon's user must be a member of the group. In a systemd unit: SupplementaryGroups=${gid}.`,
      cause,
    )
  }
  chmodSync(path, 0o660)
}

/** Renames a file. Returns false if that fails. */
function isMoved(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch {
    return false
  }
}

/**
 * Makes a server keep what replaced its socket. When Node closes a server, it removes the path,
 * also if a file or the socket of another daemon is there now.
 */
function keepReplacement(server: Server, path: string): void {
  const own = lstatSync(path).ino
  const close = server.close.bind(server)
  server.close = (callback) => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || found.ino === own) return close(callback)
    const aside = asideOf(path)
    const moved = isMoved(path, aside)
    try {
      return close(callback)
    } finally {
      if (moved) isMoved(aside, path)
    }
  }
}

/**
 * Returns the configured socket as a place to listen on. It is bound when a server listens, which
 * removes the file when it stops.
 * @throws StartError if the folder is unsafe, or the group is unknown
 */
export function socketPlace({ path, group }: SocketConfig): ListeningPlace {
  requireSocketFolder(path)
  const gid = group === null ? null : gidOf(group, readFileSync('/etc/group', 'utf8'))
  return {
    port: 0,
    async listen(server) {
      await free(path)
      await bound(server, path)
      try {
        open(path, gid)
        keepReplacement(server, path)
      } catch (error) {
        server.close()
        throw error
      }
    },
    [Symbol.dispose]: () => undefined,
  }
}
