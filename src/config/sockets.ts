/** The Unix socket of the API, and the sockets that the service manager passes to the daemon. */
import { type ConfigPlatform, type Env, absolute, pathOn, read, wrong } from './values.ts'

/** The Unix socket that the daemon creates. */
export interface SocketConfig {
  readonly path: string
  /** The name or the gid of the group that may connect; null if only the daemon's user may. */
  readonly group: string | null
}

/** A file descriptor that the service manager passed, by systemd's protocol. */
export interface InheritedDescriptor {
  readonly fd: number
  /** Its name in the unit (FileDescriptorName=), for messages. */
  readonly name: string
}

/** The greatest length of a path in bytes: macOS stores 104 with the final NUL, Linux 108. */
const LONGEST_PATH = 103

/**
 * Returns the Unix socket to create; null if there is none.
 * @throws StartError
 */
export function unixSocket(env: Env, os: ConfigPlatform): SocketConfig | null {
  const value = read(env, 'SVC_HTTP_SOCKET')
  const group = read(env, 'SVC_HTTP_SOCKET_GROUP')
  if (value === null) {
    if (group === null) return null
    throw wrong(
      'SVC_HTTP_SOCKET_GROUP',
      group,
      'there is no SVC_HTTP_SOCKET to which the group could connect. Set it to an absolute path, or unset SVC_HTTP_SOCKET_GROUP.',
    )
  }
  if (os.platform === 'win32')
    throw wrong(
      'SVC_HTTP_SOCKET',
      value,
      'Unix sockets have no owner and no mode on Windows, so every user could connect. Unset it.',
    )
  const path = absolute('SVC_HTTP_SOCKET', value, pathOn(os))
  if (/\p{Cc}/u.test(path) || Buffer.byteLength(path) > LONGEST_PATH)
    throw wrong(
      'SVC_HTTP_SOCKET',
      value,
      `it must have at most ${LONGEST_PATH} bytes and no control characters.`,
    )
  if (group !== null && !/^[^\s:/]+$/.test(group))
    throw wrong('SVC_HTTP_SOCKET_GROUP', group, 'it must be the name or the gid of one group.')
  return Object.freeze({ path, group })
}

/**
 * Returns the descriptors that the service manager passed to this process.
 *
 * A variable for another process is ignored, as its protocol demands.
 * @throws StartError
 * @see sd_listen_fds(3)
 */
export function inheritedDescriptors(env: Env, os: ConfigPlatform): readonly InheritedDescriptor[] {
  const count = read(env, 'LISTEN_FDS')
  if (count === null || read(env, 'LISTEN_PID') !== String(process.pid)) return Object.freeze([])
  if (os.platform !== 'linux')
    throw wrong(
      'LISTEN_FDS',
      count,
      'the daemon accepts sockets of a service manager only on Linux, from systemd. Set SVC_HTTP_SOCKET instead.',
    )
  if (!/^(0|[1-9]\d{0,2})$/.test(count))
    throw wrong('LISTEN_FDS', count, 'it must be the number of the passed descriptors.')
  const names = (read(env, 'LISTEN_FDNAMES') ?? '').split(':')
  // The first passed descriptor is always 3.
  return Object.freeze(
    Array.from({ length: Number(count) }, (_, i) => ({ fd: 3 + i, name: names[i] || 'unknown' })),
  )
}

/** Removes the variables about passed descriptors, which must not reach other programs. */
export function dropInherited(env: Env): void {
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID'])
    delete env[name]
}
