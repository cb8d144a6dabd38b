/**
 * Finds the process that listens on a port of this machine.
 * Connects to the port, and reads the listings of the kernel where it offers them.
 */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { basename } from 'node:path'

const LISTENS = '0A'
const PATIENCE_MS = 2000

/**
 * Returns whether a process accepts connections there. A host that does not respond counts as
 * none.
 */
export function isTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const settle = (taken: boolean) => {
      clearTimeout(late)
      socket.destroy()
      resolve(taken)
    }
    const late = setTimeout(() => settle(false), PATIENCE_MS)
    socket.once('connect', () => settle(true))
    socket.once('error', () => settle(false))
  })
}

function lines(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').split('\n').slice(1)
  } catch {
    return []
  }
}

/** Returns the inodes of the sockets that listen on a port, for IPv4 or IPv6. */
function inodesOn(family: 4 | 6, port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const found = lines(`/proc/net/${family === 4 ? 'tcp' : 'tcp6'}`)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === LISTENS && local?.endsWith(suffix))
    .map((cells) => cells[9] as string)
  return new Set(found)
}

export interface Listener {
  readonly pid: number
  readonly name: string
}

function socketsOf(pid: string): string[] {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).map((fd) => {
      try {
        return readlinkSync(`${folder}/${fd}`)
      } catch {
        return ''
      }
    })
  } catch {
    // The process belongs to another user or has ended.
    return []
  }
}

/** Returns the name of a process: of its executable if this user may read that. */
export function processName(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`))
  } catch {
    return commandOf(pid)
  }
}

function commandOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return null
  }
}

/** Returns the process that listens on a port, or null if this user may not see it. */
export function listenerOn(family: 4 | 6, port: number): Listener | null {
  const inodes = inodesOn(family, port)
  // An IPv6 socket may accept IPv4 as well.
  if (family === 4) for (const inode of inodesOn(6, port)) inodes.add(inode)
  if (inodes.size === 0) return null
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    if (socketsOf(pid).some((link) => links.has(link)))
      return { pid: Number(pid), name: processName(Number(pid)) ?? '?' }
  return null
}
