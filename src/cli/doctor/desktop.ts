/** Checks whether a service shows notifications on the desktop, if they are switched on. */
import { openBus } from '../../desktop/bus.ts'
import { serviceName } from '../../desktop/service.ts'
import { NO_SESSION_BUS, sessionBus } from '../../runtime/session-bus.ts'
import { type Finding, messageOf, ok, warn } from './finding.ts'
import type { DoctorCheck } from './check.ts'

const NAME = 'desktop'
const cannot = (why: string, remedy: string): Finding =>
  warn(NAME, `notifications are switched on, but cannot be shown: ${why}`, remedy)

async function service(address: string): Promise<Finding> {
  const bus = await openBus(address)
  try {
    const name = await serviceName(bus)
    if (name === null)
      return cannot(
        'no program on the session bus shows notifications',
        'Log in to the desktop, or start such a program, for example dunst or mako.',
      )
    const by = name === '' ? 'a service that the session bus starts when needed' : name
    return ok(NAME, `notifications are shown by ${by}`)
  } finally {
    bus.close()
  }
}

export const desktopCheck: DoctorCheck = {
  name: NAME,
  async run({ config, env }) {
    if (config.desktopNotify !== true) return []
    const address = sessionBus(env)
    if (address === null)
      return [
        cannot(
          NO_SESSION_BUS,
          'Run the daemon in the desktop session of the user, for example as a service of the user, or unset SVC_DESKTOP_NOTIFY. The service of the machine has no desktop.',
        ),
      ]
    try {
      return [await service(address)]
    } catch (error) {
      return [
        cannot(
          `the session bus cannot be used: ${messageOf(error)}`,
          'Log in to the desktop again, or correct DBUS_SESSION_BUS_ADDRESS.',
        ),
      ]
    }
  },
}
