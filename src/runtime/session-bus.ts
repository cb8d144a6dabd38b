/** Finds the session bus of the user's desktop. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the addresses of the user's session bus, separated by semicolons; null if there is none.
 *
 * A bus of systemd has its socket at a fixed place, which also programs without the variable use.
 * @see https://dbus.freedesktop.org/doc/dbus-specification.html#addresses
 */
export function sessionBus(env: NodeJS.ProcessEnv = process.env): string | null {
  if (env['DBUS_SESSION_BUS_ADDRESS']) return env['DBUS_SESSION_BUS_ADDRESS']
  const runtime = env['XDG_RUNTIME_DIR']
  const socket = runtime ? join(runtime, 'bus') : ''
  return socket !== '' && existsSync(socket) ? `unix:path=${encodeURI(socket)}` : null
}

/** Why nothing on the session bus can be reached. */
export const NO_SESSION_BUS = 'there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)'
