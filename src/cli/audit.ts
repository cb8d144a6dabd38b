import { EXIT, StartError } from '../errors.ts'
import { verifyAudit } from '../state/audit-chain.ts'
import { type Command, UsageError } from './command.ts'

function headIn(given: unknown): string | null {
  if (given === undefined) return null
  if (typeof given === 'string' && /^[0-9a-f]{64}$/.test(given)) return given
  throw new UsageError('--head wants the 64 hex digits that "countersignd audit verify" printed.')
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
    const { stateDir } = config()
    const report = verifyAudit(stateDir, head)
    const { knowsHead, ...told } = report
    const { lines, before, cut, from, to, fault } = told
    if (lines === 0 && fault === null)
      throw new StartError(
        'failed',
        `There is no audit log in ${stateDir}: no daemon has run there yet, or somebody took it away.`,
      )
    const isGood = fault === null && knowsHead !== false
    print({ ok: isGood, ...told, knows_head: knowsHead }, [
      fault === null
        ? `${plural(lines, 'line')}, each follows from the one before`
        : `${fault.file}, row ${fault.row}: it ${fault.what}. What stands from there on is not as it was written.`,
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
