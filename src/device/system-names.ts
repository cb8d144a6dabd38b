/** The names of this machine and its user, as the operating system reports them. */
import { hostname, userInfo } from 'node:os'

export interface SystemNames {
  readonly display_name: string
  readonly device_name: string
  readonly platform: 'linux' | 'macos' | 'windows' | 'other'
}

const PLATFORM: Readonly<Record<string, SystemNames['platform']>> = {
  linux: 'linux',
  darwin: 'macos',
  win32: 'windows',
}

/**
 * Returns the user's name. In a container, the user may have no passwd entry, so the function falls
 * back to the environment.
 */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return process.env['USER'] || process.env['LOGNAME'] || 'user'
  }
}

/** Returns the names. Each is looked up when it is read, because most starts need none. */
export const ownNames = (): SystemNames => ({
  get display_name() {
    return userName()
  },
  get device_name() {
    return hostname()
  },
  platform: PLATFORM[process.platform] ?? 'other',
})
