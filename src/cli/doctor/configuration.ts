/** Checks the environment: reports invalid settings, or the settings in force. */
import { peerCheck } from '../../auth/peer.ts'
import { StartError } from '../../errors.ts'
import { readAuthority } from '../../remote/authority.ts'
import { requireCertificate } from '../../remote/transport.ts'
import { chosenToken } from '../api.ts'
import { type Finding, fail, ok } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'configuration'

/** Yields the validations that otherwise run only when a setting is used. */
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
  const faults = [...ground.faults]
  for (const use of usedLater(ground))
    try {
      use()
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      faults.push(error)
    }
  return faults
}

function inForce({ config, env }: DoctorContext): string {
  const { stateDir, bind, port, accountBind, accountPort, backendUrl, environment } = config
  const count = Object.keys(env).filter((name) => name.startsWith('SVC_') && env[name]).length
  const said = [
    stateDir === undefined ? null : `folder ${stateDir}`,
    bind === undefined || port === undefined ? null : `API ${bind}:${port}`,
    accountBind === undefined || accountPort === undefined
      ? null
      : `account listener ${accountBind}:${accountPort}`,
    backendUrl === undefined
      ? null
      : `account server ${backendUrl ?? 'embedded in the daemon'} (${environment})`,
  ]
  return `${count} SVC_ ${count === 1 ? 'variable' : 'variables'} set; ${said.filter((it) => it !== null).join(', ')}`
}

export const configurationCheck: DoctorCheck = {
  name: NAME,
  run(ground) {
    const faults: Finding[] = faultsOf(ground).map((fault) =>
      fail(
        NAME,
        fault.message,
        'Correct that setting in the environment of countersignd: in the shell, or in the unit of the service.',
      ),
    )
    return [...faults, ...(faults.length === 0 ? [ok(NAME, inForce(ground))] : [])]
  },
}
