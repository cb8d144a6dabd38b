/** Checks that each line of the audit log follows from the line before it. */
import { verifyAudit } from '../../storage/audit-chain.ts'
import { auditFiles } from '../../storage/audit-files.ts'
import { type Finding, fail, ok, messageOf, warn } from './finding.ts'
import { type DoctorCheck } from './check.ts'

const NAME = 'audit log'

/** Verifies the whole audit log. The subprocess calls it. */
export function auditApart(stateDir: string): Finding[] {
  try {
    const { lines, from, cut, fault } = verifyAudit(stateDir)
    if (fault !== null)
      return [
        fail(
          NAME,
          `${fault.file}, row ${fault.row}: it ${fault.what}; the entries from there on were changed`,
          'countersignd audit verify (and compare with a backup who changed it)',
        ),
      ]
    const since = from === null ? '' : ` since ${from}`
    const torn = cut === 0 ? '' : `, ${cut} cut off by a crash`
    return [
      ok(
        NAME,
        `${lines} ${lines === 1 ? 'line' : 'lines'}${since}, each follows from the one before${torn}`,
      ),
    ]
  } catch (error) {
    return [fail(NAME, `cannot be read: ${messageOf(error)}`, 'countersignd audit verify')]
  }
}

export const auditCheck: DoctorCheck = {
  name: NAME,
  async run({ config: { stateDir }, apart, holding }) {
    if (stateDir === undefined) return []
    if (!hasLog(stateDir))
      return (await holding()).state === 'proven'
        ? [
            warn(
              NAME,
              'the file is missing, though a daemon runs: it was deleted',
              'Put it back, and start the daemon again: countersignd serve',
            ),
          ]
        : []
    return (
      (await apart(NAME)) ?? [
        warn(NAME, 'too long to be checked in a few seconds', 'countersignd audit verify'),
      ]
    )
  },
}

function hasLog(stateDir: string): boolean {
  try {
    return auditFiles(stateDir).length > 0
  } catch {
    // The folder is missing, or this user may not list it. The check of files reports both.
    return false
  }
}
