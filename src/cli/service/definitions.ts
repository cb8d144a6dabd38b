/** Selects the definition for a system, a scope and a program. */
import { StartError } from '../../errors.ts'
import { type Invocation, UsageError } from '../command.ts'
import {
  type Definition,
  PLATFORMS,
  type ServiceScope,
  type ServicePlatform,
  type ServiceSettings,
} from './definition.ts'
import { launchd } from './launchd.ts'
import type { Host } from './machine.ts'
import { systemd } from './systemd.ts'
import { taskScheduler } from './task-scheduler.ts'

const MAKERS: Readonly<Record<ServicePlatform, (wanted: ServiceSettings) => Definition>> = {
  linux: systemd,
  darwin: launchd,
  win32: taskScheduler,
}

const isServicePlatform = (name: string): name is ServicePlatform =>
  (PLATFORMS as readonly string[]).includes(name)

/** The options that all service commands accept. */
export const SCOPES = { user: { type: 'boolean' }, system: { type: 'boolean' } } as const

/** Returns the requested scope (default: `system` for root, `user` for other users). */
export function scopeOf({ options }: Pick<Invocation, 'options'>, { uid }: Host): ServiceScope {
  const { user, system } = options
  if (user === true && system === true)
    throw new UsageError('Give either --user or --system, not both.')
  if (system === true) return 'system'
  return user === true || uid !== 0 ? 'user' : 'system'
}

/**
 * Returns the system to make a definition for.
 * @param named the value of the option; undefined for this machine's system
 */
export function platformOf(
  named: string | boolean | undefined,
  { platform }: Host,
): ServicePlatform {
  const name = named === undefined ? platform : String(named)
  if (isServicePlatform(name)) return name
  if (named !== undefined)
    throw new UsageError(`--platform must be one of: ${PLATFORMS.join(', ')}.`)
  throw new StartError(
    'failed',
    `"countersignd service" does not support ${platform}. Configure the service manager of this system to run "countersignd serve" as a user of its own.`,
  )
}

/** Returns the definition for a system. */
export const definitionOf = (platform: ServicePlatform, wanted: ServiceSettings): Definition =>
  MAKERS[platform](wanted)
