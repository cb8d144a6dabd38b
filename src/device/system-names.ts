/** What this machine and its user are called, as far as the system says. */
import { hostname, userInfo } from 'node:os'

export interface Names {
  readonly display_name: string
  readonly device_name: string
  readonly platform: 'linux' | 'macos' | 'windows' | 'other'
}

const PLATFORM: Readonly<Record<string, Names['platform']>> = {
  linux: 'linux',
  darwin: 'macos',
  win32: 'windows',
}

/** Containers run as users whom no passwd entry names; the system then has no name to give. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return process.env['USER'] || process.env['LOGNAME'] || 'user'
  }
}

/** Looked up when they are read: most starts need none of them. */
export const ownNames = (): Names => ({
  get display_name() {
    return userName()
  },
  get device_name() {
    return hostname()
  },
  platform: PLATFORM[process.platform] ?? 'other',
})
