/** The names with which a device enrols: of its user, and of this machine. */
import { hostname } from 'node:os'

export interface SystemNames {
  /** The name that the user has chosen; null if there is none yet. */
  readonly display_name: string | null
  readonly device_name: string
  readonly platform: 'linux' | 'macos' | 'windows' | 'other'
}

const PLATFORM: Readonly<Record<string, SystemNames['platform']>> = {
  linux: 'linux',
  darwin: 'macos',
  win32: 'windows',
}

/**
 * Returns the names. The name of the machine is looked up when it is read, because most starts do
 * not need it.
 *
 * The user's name at the operating system is often "root" or the name of a machine, so it is never
 * shown to others.
 */
export const ownNames = (): SystemNames => ({
  display_name: null,
  get device_name() {
    return hostname()
  },
  platform: PLATFORM[process.platform] ?? 'other',
})
