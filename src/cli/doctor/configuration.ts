/** Checks this program and its environment. Reports invalid settings, or the active settings. */
import { existsSync } from 'node:fs'
import { peerCheck } from '../../auth/peer.ts'
import { StartError } from '../../errors.ts'
import { readAuthority, requireCertificate } from '../../remote/transport.ts'
import { versionLine } from '../../runtime/version.ts'
import { chosenToken } from '../api.ts'
import { isForSystem } from '../system-instance.ts'
import type { DoctorCheck, DoctorContext } from './check.ts'
import { fail, type Finding, ok, warn } from './finding.ts'

/** The kernel's list of connections with their owners. The check of the token route needs it. */
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

const consoleFinding = ({ config }: DoctorContext): Finding =>
  ok(
    'console',
    config.console === false
      ? 'off: SVC_CONSOLE takes it away'
      : '"countersignd open" opens it in a browser',
  )

/** Checks this program, and what the operating system provides to it. */
export const programCheck = (platform: NodeJS.Platform = process.platform): DoctorCheck => ({
  name: 'program',
  run(ground) {
    const { NODE_OPTIONS } = ground.env
    const built = `countersignd ${versionLine} on Node ${process.versions.node}, ${platform} ${process.arch}`
    const found = [ok('program', built), peers(ground, platform), consoleFinding(ground)]
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

const NAME = 'configuration'

/** Yields the validations of settings that otherwise run only when the settings are used. */
function* usedLater({ config }: DoctorContext): Generator<() => unknown> {
  const { tokenUsers, caFile, token, tokenFile } = config
  if (tokenUsers !== undefined) yield () => peerCheck(tokenUsers)
  if (caFile != null)
    yield () => {
      const pem = readAuthority(caFile)
      if (pem !== null) requireCertificate(pem)
    }
  if (token === null && tokenFile != null) yield () => chosenToken({ token, tokenFile })
}

function faultsOf(ground: DoctorContext): StartError[] {
  const faults = [...ground.survey.faults]
  for (const use of usedLater(ground))
    try {
      use()
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      faults.push(error)
    }
  return faults
}

function inForce({ config, survey: { values } }: DoctorContext): string {
  const { stateDir, bind, port, accountBind, accountPort, backendUrl, environment } = config
  const count = Object.keys(values).filter((name) => name.startsWith('SVC_') && values[name]).length
  const parts = [
    stateDir === undefined ? null : `folder ${stateDir}`,
    bind === undefined || port === undefined ? null : `API ${bind}:${port}`,
    accountBind === undefined || accountPort === undefined
      ? null
      : `account listener ${accountBind}:${accountPort}`,
    backendUrl === undefined
      ? null
      : `account server ${backendUrl ?? 'embedded in the daemon'} (${environment})`,
  ]
  return `${count} ${count === 1 ? 'setting' : 'settings'} set; ${parts.filter((it) => it !== null).join(', ')}`
}

export const configurationCheck: DoctorCheck = {
  name: NAME,
  run(ground) {
    const faults: Finding[] = faultsOf(ground).map((fault) =>
      fail(
        NAME,
        fault.message,
        'Correct the setting in the file that the message names, or else in the environment of countersignd: in the shell, or in the unit of the service.',
      ),
    )
    const { stateDir, system } = ground.config
    // The settings of the service need not apply to the users who call it.
    const isOutside =
      stateDir !== undefined && system !== undefined && isForSystem({ stateDir, system })
    const unread = ground.survey.files.filter(({ state }) => state === 'unreadable' && !isOutside)
    const hidden = unread.map(({ path }) =>
      warn(
        NAME,
        `this user may not read ${path}, so its settings do not apply to this user`,
        'If they must apply to each user: keep secrets in files of their own (settings whose names end in _FILE), then chmod 644 the settings.',
      ),
    )
    return [...faults, ...hidden, ...(faults.length === 0 ? [ok(NAME, inForce(ground))] : [])]
  },
}
