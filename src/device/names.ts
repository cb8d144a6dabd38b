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

export const ownNames = (): Names => ({
  display_name: userName(),
  device_name: hostname(),
  platform: PLATFORM[process.platform] ?? 'other',
})
