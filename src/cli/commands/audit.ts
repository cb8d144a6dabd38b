import type { Config } from '../../config/config.ts'
import { EXIT, StartError } from '../../errors.ts'
import { verifyAudit } from '../../storage/audit-chain.ts'
import type { FileCheck } from '../../keychain/private-file.ts'
import { type Command, UsageError } from '../command.ts'
import { systemInstance } from '../system-instance.ts'

function headIn(given: unknown): string | null {
  if (given === undefined) return null
  if (typeof given === 'string' && /^[0-9a-f]{64}$/.test(given)) return given
  throw new UsageError(
    '--head must be the 64 hexadecimal digits that "countersignd audit verify" printed.',
  )
}

/**
 * Returns the folder with the audit log of the daemon that commands in this environment use, and
 * the check that its files have the right owner.
 * @throws StartError `failed` if only root may read the log
 */
function placeOf(config: Config): { readonly dir: string; readonly check?: FileCheck } {
  const instance = systemInstance(config)
  if (instance === null) return { dir: config.stateDir }
  if (instance.state !== null) return instance.state
  throw new StartError(
    'failed',
    'Only root can read the audit log of the countersignd service of this machine. Run the command again with sudo.',
  )
}

const plural = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`

export const auditVerify: Command = {
  usage: '[--head HASH] [--json]',
  help: `
Checks all files of the audit log in the state folder: no line may have been changed, removed or inserted. The
command only reads the log, and can run while a daemon is running. It prints the head of the log: the hash of the
last line. Keep the head outside this machine. With --head, a later check shows whether the log still contains the
line with this hash. The exit code is 1 if a line was changed, removed or inserted, or if the log does not contain
the head.

  --head HASH   a head that an earlier check printed`,
  options: { head: { type: 'string' } },
  args: [0, 0],
  async run({ options, config, print }) {
    const head = headIn(options['head'])
    const { dir, check } = placeOf(config())
    const report = verifyAudit(dir, head, check)
    const { knowsHead, ...result } = report
    const { lines, before, cut, from, to, fault } = result
    if (lines === 0 && fault === null)
      throw new StartError(
        'failed',
        `There is no audit log in ${dir}. Either no daemon has run with this state folder yet, or the file was deleted.`,
      )
    const isGood = fault === null && knowsHead !== false
    print({ ok: isGood, ...result, knows_head: knowsHead }, [
      fault === null
        ? `${plural(lines, 'line')}, each matches the line before it`
        : `Line ${fault.row} of ${fault.file} ${fault.what}. The log was changed at this line or after it.`,
      ...(from === null ? [] : [`from   ${from}`, `to     ${to}`]),
      ...(before === 0
        ? []
        : [
            `before ${plural(before, 'line')} in older files, which were deleted to limit the size of the log`,
          ]),
      ...(cut === 0 ? [] : [`cut    ${plural(cut, 'line')}, incomplete because of a crash`]),
      `head   ${report.head}`,
      ...(knowsHead === false ? [`The log does not contain the head ${head}.`] : []),
    ])
    return isGood ? EXIT.ok : EXIT.failed
  },
}
