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
          `${fault.file}, line ${fault.row}: it ${fault.what}; the lines from there on were changed`,
          'countersignd audit verify (then compare the log with a backup to see what was changed)',
        ),
      ]
    const since = from === null ? '' : ` since ${from}`
    const torn = cut === 0 ? '' : `, ${cut} cut off by a crash`
    return [
      ok(
        NAME,
        `${lines} ${lines === 1 ? 'line' : 'lines'}${since}, each matches the line before it${torn}`,
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
              'the file is missing although a daemon is running, so it was deleted',
              'Restore the file, then restart the daemon: countersignd serve',
            ),
          ]
        : []
    return (
      (await apart(NAME)) ?? [
        warn(NAME, 'too long to check in a few seconds', 'countersignd audit verify'),
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
