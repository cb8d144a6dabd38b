/** Checks this program and what the operating system provides to it. */
import { existsSync } from 'node:fs'
import { versionLine } from '../version-line.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

/** The listing with the owner of each connection. The check of the token route depends on it. */
const LISTING = '/proc/self/net/tcp'

function peers({ config }: DoctorContext, platform: NodeJS.Platform): Finding {
  const name = 'token route'
  const { tokenUsers } = config
  if (platform !== 'linux')
    return warn(
      name,
      `on ${platform} the user of a request is unknown, so any user of this machine can create a token`,
      'Run the daemon only on a machine where you trust every user.',
    )
  if (tokenUsers !== undefined && 'any' in tokenUsers)
    return warn(
      name,
      'SVC_TOKEN_USERS=any: every user of this machine can create a token',
      'Set SVC_TOKEN_USERS to the names of the users who need tokens: SVC_TOKEN_USERS=alice,bob',
    )
  if (!existsSync(LISTING))
    return fail(
      name,
      `${LISTING} cannot be read, so the user of a request is unknown and no user can create a token`,
      'Make /proc available to the daemon. In a systemd unit, remove ProcSubset=pid and other settings that hide /proc.',
    )
  const others = tokenUsers === undefined ? [] : tokenUsers.names
  return ok(
    name,
    `these users can create tokens: this user, root${others.map((one) => `, ${one}`).join('')}`,
  )
}

export const programCheck = (platform: NodeJS.Platform = process.platform): DoctorCheck => ({
  name: 'program',
  run(ground) {
    const { NODE_OPTIONS } = ground.env
    const built = `countersignd ${versionLine} on Node ${process.versions.node}, ${platform} ${process.arch}`
    const found = [ok('program', built), peers(ground, platform)]
    if (!NODE_OPTIONS) return found
    return [
      ...found,
      warn(
        'program',
        'NODE_OPTIONS is set, which can make this program run other code',
        'unset NODE_OPTIONS',
      ),
    ]
  },
})
