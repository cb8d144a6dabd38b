/** Checks the lock of the state folder, and the daemon that should own the lock. */
import { readFileSync } from 'node:fs'
import { hostsOf } from '../../http/address.ts'
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
  const found = `${who(pid)} holds the state folder and does not answer as its daemon: ${why}`
  if (pid === null)
    return fail(NAME, found, 'Look at its log, or stop it and start it again: countersignd serve')
  return isStopped(pid)
    ? fail(NAME, `${found}; it was stopped by a signal`, `kill -CONT ${pid}`)
    : fail(NAME, found, `Look at its log, or end it: kill ${pid}; if it stays: kill -9 ${pid}`)
}

function running(ground: DoctorContext, holding: Extract<Holding, { state: 'proven' }>): Finding[] {
  const { address, pid, version, uptimeS } = holding
  const { bind, port } = ground.config
  const up = `process ${pid} at ${address}, for ${durationText(uptimeS * 1000)}`
  const found =
    version === VERSION
      ? ok(NAME, `${up}, version ${version}; it proved to be this folder’s`)
      : warn(
          NAME,
          `${up}, version ${version}, and this program is ${VERSION}`,
          `Start the daemon again with this version: kill ${pid}; countersignd serve`,
        )
  if (bind === undefined || !port) return [found]
  const [configured] = hostsOf(bind, port).values()
  if (configured === undefined || new URL(address).origin === configured) return [found]
  return [
    found,
    warn(
      NAME,
      `it listens on ${address}, and the environment here has ${configured}`,
      'Give both the same SVC_HTTP_BIND and SVC_HTTP_PORT: programs that go by them look in the wrong place.',
    ),
  ]
}

export const daemonCheck: DoctorCheck = {
  name: NAME,
  async run(ground) {
    const holding = await ground.holding()
    switch (holding.state) {
      case 'unknown':
        return [fail(NAME, `unknown whether one runs: ${holding.why}`, holding.remedy)]
      case 'proven':
        return running(ground, holding)
      case 'free':
        return holding.runtime
          ? [
              warn(
                NAME,
                'none runs; runtime.json is left of one that was killed',
                'countersignd serve',
              ),
            ]
          : [ok(NAME, 'none runs; the state folder is free')]
      case 'silent': {
        const alone = holding.runtime === null ? await serverAlone(ground) : null
        return alone === null
          ? [silent(holding)]
          : [ok(NAME, `an account server alone holds this folder, ${who(holding.pid)}, ${alone}`)]
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
      const { address, owner, pid, state, version } = instance
      const connection = await connectToSystem(instance, null)
      connection.close()
      const proven = state === null ? 'the kernel confirms its user' : 'it proved itself'
      const found = `the service of this machine: process ${pid} of user ${owner} at ${address}, version ${version}; ${proven}`
      return [
        version === VERSION
          ? ok(NAME, found)
          : warn(
              NAME,
              `${found}; this program is ${VERSION}`,
              'sudo systemctl restart countersignd',
            ),
      ]
    } catch (error) {
      return [fail(NAME, messageOf(error), 'systemctl status countersignd')]
    }
  },
}
