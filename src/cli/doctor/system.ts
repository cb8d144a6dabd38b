/** Checks the daemon of the whole machine for a user who cannot read its state folder. */
import { VERSION } from '../../runtime/version.ts'
import { connectToSystem } from '../system-connection.ts'
import { systemInstance } from '../system-instance.ts'
import { fail, ok, messageOf, warn } from './finding.ts'
import { type DoctorCheck } from './check.ts'

const NAME = 'daemon'

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
