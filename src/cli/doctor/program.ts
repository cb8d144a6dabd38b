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
      `on ${platform} the user of a request is unknown: only the loopback rule protects the token route`,
      'Run the daemon only where you trust every user of this machine: each of them can create a token.',
    )
  if (tokenUsers !== undefined && 'any' in tokenUsers)
    return warn(
      name,
      'SVC_TOKEN_USERS=any: every user of this machine can create a token',
      'Name the users who may in its place: SVC_TOKEN_USERS=alice,bob',
    )
  if (!existsSync(LISTING))
    return fail(
      name,
      `${LISTING} cannot be read: the user of a request is unknown, so the token route rejects all`,
      'Mount /proc for the daemon; in a unit, leave out ProcSubset=pid and what hides it.',
    )
  const others = tokenUsers === undefined ? [] : tokenUsers.names
  return ok(
    name,
    `the kernel names the user of a request: this user, root${others.map((one) => `, ${one}`).join('')}`,
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
        'NODE_OPTIONS is set, by which others can have code of theirs run in this program',
        'unset NODE_OPTIONS',
      ),
    ]
  },
})
