/**
 * `doctor`: checks an installation and reports each problem with a remedy.
 *
 * It changes nothing. It sends requests only to this machine and to the configured account server.
 * Each check has a time limit, and a failing check does not hide the results of the others.
 */
import type { DoctorReport } from '../../api/rest/doctor.ts'
import { surveyConfig } from '../../config/config.ts'
import { ofFolder } from '../../daemon/folder.ts'
import { EXIT } from '../../errors.ts'
import { type Colour, coloured } from '../output.ts'
import { type Command, type Io, UsageError } from '../command.ts'
import { accountCheck } from '../doctor/account.ts'
import { backupsCheck } from '../doctor/backups.ts'
import { type Part, type Reported, newApart } from '../doctor/subprocess.ts'
import { auditCheck, auditApart, databaseChecks, databasesApart } from '../doctor/databases.ts'
import { clockCheck, serverCheck } from '../doctor/server.ts'
import { configurationCheck, programCheck } from '../doctor/configuration.ts'
import { daemonCheck, systemCheck } from '../doctor/daemon.ts'
import { desktopCheck } from '../doctor/desktop.ts'
import { filesCheck } from '../doctor/files.ts'
import { type Finding, type FindingState, fail, messageOf, warn } from '../doctor/finding.ts'
import { type DoctorCheck, type DoctorContext } from '../doctor/check.ts'
import { holdingOf } from '../doctor/lock-owner.ts'
import { keychainCheck, keychainApart } from '../doctor/keychain.ts'
import { assistantCheck, mailCheck } from '../doctor/mail.ts'
import { memoryOf } from '../doctor/memory.ts'
import { portsCheck } from '../doctor/ports.ts'
import { socketCheck } from '../doctor/socket.ts'
import { lookAtServer } from '../doctor/server-answer.ts'
import { isForSystem } from '../system-instance.ts'
import { shown } from '../table.ts'

/** The checks in the order of the report. */
const CHECKS: readonly DoctorCheck[] = [
  configurationCheck,
  programCheck(),
  filesCheck,
  ...databaseChecks,
  auditCheck,
  backupsCheck,
  daemonCheck,
  portsCheck,
  socketCheck,
  keychainCheck,
  clockCheck,
  accountCheck,
  serverCheck,
  mailCheck,
  assistantCheck,
  desktopCheck,
]

/** The checks for a user who cannot read the state of the daemon that serves the whole machine. */
const FROM_OUTSIDE: readonly DoctorCheck[] = [configurationCheck, programCheck(), systemCheck]

const checksOf = ({
  config: { stateDir, system: places },
}: DoctorContext): readonly DoctorCheck[] =>
  stateDir !== undefined && places !== undefined && isForSystem({ stateDir, system: places })
    ? FROM_OUTSIDE
    : CHECKS

/** The time limit of a check in milliseconds. The steps of a check have shorter limits. */
const PATIENCE_MS = 30_000

const COLOURS: Readonly<Record<FindingState, Colour>> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}

function groundOf({ env, machine }: Io, now = Date.now): DoctorContext {
  const survey = surveyConfig(env, machine)
  const { config: read } = survey
  const { stateDir } = read
  const memory = memoryOf(stateDir)
  const config = ofFolder(read, memory.server)
  const { backendUrl } = config
  return {
    env,
    config,
    survey,
    now,
    holding: once(() => holdingOf(stateDir)),
    memory,
    apart: newApart(env),
    server: backendUrl == null ? null : once(() => lookAtServer({ ...config, backendUrl }, now)),
  }
}

async function outcome(
  { name, run }: DoctorCheck,
  ground: DoctorContext,
): Promise<readonly Finding[]> {
  let late: NodeJS.Timeout | undefined
  const tooLate = new Promise<Finding[]>((resolve) => {
    const gaveUp = warn(name, 'this check took too long and was stopped', 'countersignd doctor')
    late = setTimeout(() => resolve([gaveUp]), PATIENCE_MS)
  })
  const checked = async () => run(ground)
  try {
    return await Promise.race([checked(), tooLate])
  } catch (error) {
    return [
      fail(
        name,
        `could not be checked: ${messageOf(error)}`,
        'Correct that, then run: countersignd doctor',
      ),
    ]
  } finally {
    clearTimeout(late)
  }
}

/** Returns the report as lines. Control characters in texts from other sources are removed. */
function linesOf(findings: readonly Finding[], { stdout, env }: Io): string[] {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings.map(({ state, name, found, remedy }) => {
    const word = coloured(COLOURS[state], state.padEnd(4), { stream: stdout, env })
    const text = remedy === null ? found : `${found.replace(/\.$/, '')}. → ${remedy}`
    return `${word}  ${name.padEnd(width)}  ${shown(text)}`
  })
}

type Look = (
  stateDir: string,
  ground: DoctorContext,
) => readonly Finding[] | Promise<readonly Finding[]>

/** The checks that run in a subprocess. */
const APART: Readonly<Record<Part, Look>> = {
  ...databasesApart,
  'audit log': auditApart,
  keychain: (_, ground) => keychainApart(ground),
}

/** Runs the checks of one subprocess and writes their findings. */
async function lookApart(parts: string, ground: DoctorContext, { stdout }: Io): Promise<void> {
  const { stateDir } = ground.config
  stdout.write('\n')
  for (const part of parts.split(',')) {
    if (!Object.hasOwn(APART, part) || stateDir === undefined)
      throw new UsageError('"countersignd doctor --help" shows how to use it.')
    const findings = await outcome(
      { name: part, run: () => APART[part as Part](stateDir, ground) },
      ground,
    )
    stdout.write(`${JSON.stringify({ part, findings } satisfies Reported)}\n`)
  }
}

export const doctorCommand: Command = {
  usage: '[--json]',
  help: `
Checks everything that may be wrong with this installation: configuration, files, databases, daemon, ports,
keychain, clock, account and account server. Each line shows the result (ok, warn or fail), what was found, and
what to do about it. The command changes nothing, and works with or without a running daemon. The exit code is 1 if a
check fails.`,
  // This command starts a subprocess of itself with the option `--parts`.
  options: { parts: { type: 'string' } },
  args: [0, 0],
  async run({ options, io, print }) {
    const ground = groundOf(io)
    if (options['parts'] !== undefined) {
      await lookApart(String(options['parts']), ground, io)
      return EXIT.ok
    }
    const found = await Promise.all(checksOf(ground).map((check) => outcome(check, ground)))
    const checks = found.flat()
    const ok = checks.every(({ state }) => state !== 'fail')
    print({ ok, checks } satisfies DoctorReport, linesOf(checks, io))
    return ok ? EXIT.ok : EXIT.failed
  },
}
