/**
 * Checks the daemon's ports: free, used by the daemon itself, or used by another program.
 *
 * Also checks which program listens on the same port of the other loopback address.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { basename } from 'node:path'
import { hostIn, isLoopback } from '../../config/values.ts'
import { urlOf } from '../../http/address.ts'
import type { DoctorCheck, DoctorContext } from './check.ts'
import { fail, type Finding, ok, warn } from './finding.ts'
import { greet, healthIn, type Holding } from './lock-owner.ts'

/** The state of a listening socket in the kernel's lists. */
const LISTENS = '0A'
const PATIENCE_MS = 2000

/**
 * Returns whether a process accepts connections on a port.
 *
 * A host that does not respond in time counts as not listening.
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

interface Listener {
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
    // The process belongs to another user, or has ended.
    return []
  }
}

/**
 * Returns the name of a process.
 *
 * This is the name of its executable, if this user may read it.
 */
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

/** Returns the process that listens on a port; null if this user may not see it. */
function listenerOn(family: 4 | 6, port: number): Listener | null {
  const inodes = inodesOn(family, port)
  // An IPv6 socket can accept IPv4 connections too.
  if (family === 4) for (const inode of inodesOn(6, port)) inodes.add(inode)
  if (inodes.size === 0) return null
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    if (socketsOf(pid).some((link) => links.has(link)))
      return { pid: Number(pid), name: processName(Number(pid)) ?? '?' }
  return null
}

interface Port {
  readonly name: string
  readonly bind: string
  readonly port: number
  readonly setting: string
}

const familyOf = (host: string) => (host.includes(':') ? 6 : 4)
const otherOf = (bind: string) => (familyOf(bind) === 6 ? '127.0.0.1' : '::1')

const who = (listener: Listener | null) =>
  listener === null
    ? 'a program whose name the system does not show to this user'
    : `${listener.name} (process ${listener.pid})`

/** Returns the process that should be using the ports; null if there is none or it is unknown. */
const ownPid = (holding: Holding): number | null =>
  holding.state === 'proven' || holding.state === 'silent' ? holding.pid : null

/**
 * Returns whether the server at an address answers with the health of a countersignd.
 *
 * This is not a proof. It is used if the system does not show the owner of a port.
 */
async function looksOurs(bind: string, port: number): Promise<boolean> {
  try {
    return healthIn((await greet(urlOf(bind, port), '')).body) !== null
  } catch {
    return false
  }
}

async function isOurs({ bind, port }: Port, holding: Holding): Promise<boolean> {
  if (holding.state === 'proven' && holding.address === urlOf(bind, port)) return true
  const listener = listenerOn(familyOf(bind), port)
  if (listener !== null) return listener.pid === ownPid(holding)
  return holding.state !== 'free' && (await looksOurs(bind, port))
}

async function own(port: Port, holding: Holding): Promise<Finding> {
  const address = urlOf(port.bind, port.port)
  if (!(await isTaken(port.bind, port.port))) return ok(port.name, `${address} is free`)
  if (await isOurs(port, holding)) return ok(port.name, `${address} is used by this countersignd`)
  const listener = listenerOn(familyOf(port.bind), port.port)
  const stop = listener === null ? 'Stop that program' : `Stop that program (kill ${listener.pid})`
  return fail(
    port.name,
    `${address} is used by ${who(listener)}`,
    `${stop}, or set ${port.setting} to another port.`,
  )
}

/**
 * Warns if another program listens on the same port of the other loopback address.
 *
 * For the name localhost, browsers use either address. Pages of that program therefore have the
 * same origin as the daemon's pages.
 */
async function squatted(port: Port, holding: Holding): Promise<Finding[]> {
  const other = otherOf(port.bind)
  if (!(await isTaken(other, port.port))) return []
  const listener = listenerOn(familyOf(other), port.port)
  if (listener !== null && listener.pid === ownPid(holding)) return []
  return [
    warn(
      port.name,
      `${urlOf(other, port.port)} is used by ${who(listener)}. Browsers treat the pages of that program at http://localhost:${port.port} as pages of this daemon, because they have the same origin`,
      listener === null ? 'Find that program, and stop it.' : `kill ${listener.pid}`,
    ),
  ]
}

async function checkPort(port: Port, holding: Holding): Promise<Finding[]> {
  if (port.port === 0) return [ok(port.name, `${port.setting}=0 uses any free port`)]
  return [await own(port, holding), ...(isLoopback(port.bind) ? await squatted(port, holding) : [])]
}

/** Returns the port of the running daemon, if it is not one of the configured ports. */
function actual(holding: Holding, configured: readonly Port[]): Port[] {
  if (holding.state !== 'proven' || holding.address === null) return []
  const port = Number(new URL(holding.address).port || 80)
  if (configured.some((one) => one.port === port)) return []
  return [{ name: 'API port', bind: hostIn(holding.address), port, setting: 'SVC_HTTP_PORT' }]
}

function configured({ config }: DoctorContext): Port[] {
  const { bind, port, accountBind, accountPort, backendUrl } = config
  const api = { name: 'API port', bind, port, setting: 'SVC_HTTP_PORT' }
  const account = {
    name: 'account port',
    bind: accountBind,
    port: accountPort,
    setting: 'SVC_ACCOUNT_PORT',
  }
  // With a remote account server, nothing listens on the account port.
  return [api, ...(backendUrl === null ? [account] : [])].filter(
    (one): one is Port => one.bind !== undefined && one.port !== undefined && one.port !== null,
  )
}

export const portsCheck: DoctorCheck = {
  name: 'ports',
  async run(ground) {
    const holding = await ground.holding()
    const wanted = configured(ground)
    const all = [...wanted, ...actual(holding, wanted)]
    const off =
      ground.config.port === null
        ? [ok('API port', 'off: SVC_HTTP_PORT=off; the API has a socket')]
        : []
    return [...off, ...(await Promise.all(all.map((port) => checkPort(port, holding)))).flat()]
  },
}
