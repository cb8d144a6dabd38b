import type { Config } from '../../config/config.ts'
import { EXIT, StartError } from '../../errors.ts'
import { verifyAudit } from '../../storage/audit-chain.ts'
import type { FileCheck } from '../../keychain/private-file.ts'
import { type Command, UsageError } from '../command.ts'
import { systemInstance } from '../system-instance.ts'

function headIn(given: unknown): string | null {
  if (given === undefined) return null
  if (typeof given === 'string' && /^[0-9a-f]{64}$/.test(given)) return given
  throw new UsageError('--head wants the 64 hex digits that "countersignd audit verify" printed.')
}

/**
 * Returns the folder with the daemon's audit log, and the check of the owner of its files.
 *
 * The daemon is the one that commands in this environment use.
 * @throws StartError `failed` if only root may read the log
 */
function placeOf(config: Config): { readonly dir: string; readonly check?: FileCheck } {
  const instance = systemInstance(config)
  if (instance === null) return { dir: config.stateDir }
  if (instance.state !== null) return instance.state
  throw new StartError(
    'failed',
    'The audit log of this machine’s countersignd service is the operator’s: call this again with sudo.',
  )
}

const plural = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`

export const auditVerify: Command = {
  usage: '[--head HASH] [--json]',
  help: `
Checks the audit log in the state folder: that every line follows from the one before, over all its files. It reads only, also while
a daemon runs. The head that it prints is the hash of the last line: note it elsewhere, and later --head shows that the log still
goes on from there. Exit code 1 when a line was changed, taken out or put in, or the head is not among the lines.

  --head HASH   a head that was printed before`,
  options: { head: { type: 'string' } },
  args: [0, 0],
  async run({ options, config, print }) {
    const head = headIn(options['head'])
    const { dir, check } = placeOf(config())
    const report = verifyAudit(dir, head, check)
    const { knowsHead, ...told } = report
    const { lines, before, cut, from, to, fault } = told
    if (lines === 0 && fault === null)
      throw new StartError(
        'failed',
        `There is no audit log in ${dir}: no daemon has run there yet, or the file was deleted.`,
      )
    const isGood = fault === null && knowsHead !== false
    print({ ok: isGood, ...told, knows_head: knowsHead }, [
      fault === null
        ? `${plural(lines, 'line')}, each follows from the one before`
        : `${fault.file}, row ${fault.row}: it ${fault.what}. The entries from there on were changed.`,
      ...(from === null ? [] : [`from   ${from}`, `to     ${to}`]),
      ...(before === 0
        ? []
        : [`before ${plural(before, 'line')} in files that were deleted when others were full`]),
      ...(cut === 0 ? [] : [`cut    ${plural(cut, 'line')} by a crash`]),
      `head   ${report.head}`,
      ...(knowsHead === false ? [`The head ${head} is not among these lines.`] : []),
    ])
    return isGood ? EXIT.ok : EXIT.failed
  },
}
