/** Checks the lock of the state folder, and the daemon that should own the lock. */
import { readFileSync } from 'node:fs'
import { hostsOf } from '../../http/address.ts'
import { placesText } from '../../storage/runtime-file.ts'
import { VERSION } from '../../runtime/version.ts'
import { connectToSystem } from '../system-connection.ts'
import { systemInstance } from '../system-instance.ts'
import type { DoctorCheck, DoctorContext } from './check.ts'
import { type Finding, fail, ok, durationText, warn, messageOf } from './finding.ts'
import { processName } from './ports.ts'
import { greet, healthIn, type Holding } from './lock-owner.ts'

const NAME = 'daemon'

/**
 * Returns whether a process is stopped by a signal and waits to be continued.
 * @see proc_pid_stat(5)
 */
function isStopped(pid: number): boolean {
  try {
    return /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

const who = (pid: number | null) =>
  pid === null ? 'a process' : `process ${pid} (${processName(pid) ?? '?'})`

/**
 * Returns the version and the address of an account server that runs without a daemon, or null.
 *
 * Such a server locks its folder as a daemon does, but does not write `runtime.json`.
 */
async function serverAlone({ config }: DoctorContext): Promise<string | null> {
  const { accountBind, accountPort } = config
  if (accountBind === undefined || !accountPort) return null
  const [host] = hostsOf(accountBind, accountPort).values()
  if (host === undefined) return null
  try {
    const { body } = await greet(host, '')
    const health = healthIn(body)
    return health === null ? null : `version ${health.version}, at ${host}`
  } catch {
    return null
  }
}

function silent(holding: Extract<Holding, { state: 'silent' }>): Finding {
  const { why } = holding
  const pid = holding.pid ?? holding.runtime?.pid ?? null
  const found = `${who(pid)} uses the state folder, but does not answer as its daemon: ${why}`
  if (pid === null)
    return fail(NAME, found, 'Check its log, or stop it and start it again: countersignd serve')
  return isStopped(pid)
    ? fail(NAME, `${found}; it was stopped by a signal`, `kill -CONT ${pid}`)
    : fail(
        NAME,
        found,
        `Check its log, or stop it: kill ${pid}; if it does not stop: kill -9 ${pid}`,
      )
}

function running(ground: DoctorContext, holding: Extract<Holding, { state: 'proven' }>): Finding[] {
  const { address, pid, version, uptimeS } = holding
  const { bind, port } = ground.config
  const up = `process ${pid} at ${placesText(holding)}, for ${durationText(uptimeS * 1000)}`
  const found =
    version === VERSION
      ? ok(NAME, `${up}, version ${version}; it proved that it is the daemon of this folder`)
      : warn(
          NAME,
          `${up}, version ${version}, but this program is version ${VERSION}`,
          `Restart the daemon with this version: kill ${pid}; countersignd serve`,
        )
  if (port === null && address !== null)
    return [
      found,
      warn(
        NAME,
        `the daemon listens on ${address}, but the environment of this command has SVC_HTTP_PORT=off`,
        'Set the same SVC_HTTP_PORT for both.',
      ),
    ]
  if (bind === undefined || !port) return [found]
  const [configured] = hostsOf(bind, port).values()
  if (configured === undefined || address === null) return [found]
  if (new URL(address).origin === configured) return [found]
  return [
    found,
    warn(
      NAME,
      `the daemon listens on ${address}, but the environment of this command has ${configured}`,
      'Set the same SVC_HTTP_BIND and SVC_HTTP_PORT for both: programs that use these settings look for the daemon at the wrong address.',
    ),
  ]
}

export const daemonCheck: DoctorCheck = {
  name: NAME,
  async run(ground) {
    const holding = await ground.holding()
    switch (holding.state) {
      case 'unknown':
        return [
          fail(NAME, `cannot tell whether a daemon is running: ${holding.why}`, holding.remedy),
        ]
      case 'proven':
        return running(ground, holding)
      case 'free':
        return holding.runtime
          ? [
              warn(
                NAME,
                'not running; runtime.json is left over from a daemon that was killed',
                'countersignd serve',
              ),
            ]
          : [ok(NAME, 'not running; no process uses the state folder')]
      case 'silent': {
        const alone = holding.runtime === null ? await serverAlone(ground) : null
        return alone === null
          ? [silent(holding)]
          : [
              ok(
                NAME,
                `an account server without a daemon uses this folder: ${who(holding.pid)}, ${alone}`,
              ),
            ]
      }
    }
  },
}

/** Checks the daemon of the whole machine, for a user who cannot read its state folder. */
export const systemCheck: DoctorCheck = {
  name: NAME,
  async run({ config }) {
    const { stateDir, system: places } = config
    if (stateDir === undefined || places === undefined) return []
    try {
      const instance = systemInstance({ stateDir, system: places })
      if (instance === null) return []
      const { owner, pid, state, version } = instance
      const connection = await connectToSystem(instance, null)
      connection.close()
      const proven = state === null ? 'the kernel confirms its user' : 'it proved itself'
      const found = `the service of this machine: process ${pid} of user ${owner} at ${placesText(instance)}, version ${version}; ${proven}`
      return [
        version === VERSION
          ? ok(NAME, found)
          : warn(
              NAME,
              `${found}; this program is version ${VERSION}`,
              'sudo systemctl restart countersignd',
            ),
      ]
    } catch (error) {
      return [fail(NAME, messageOf(error), 'systemctl status countersignd')]
    }
  },
}
