/**
 * The command line: finds the command, parses its options, and runs it.
 *
 * An error is reported as one line on standard error and a documented exit code.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readConfig } from '../config/config.ts'
import { didYouMean, nearestName } from '../crypto/encoding/similar.ts'
import { AppError, EXIT, StartError } from '../errors.ts'
import { withApi } from './api.ts'
import { newCopyMark } from './as-of.ts'
import {
  AmbiguousNameError,
  type Command,
  type Invocation,
  type Io,
  type Listed,
  UsageError,
} from './command.ts'
import { coloured, harmlessIo, jsonText } from './output.ts'
import { COMMANDS } from './commands.ts'
import { versionFacts, versionLine } from '../runtime/version.ts'

const COMMON = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
} as const

const EXIT_CODES = `Exit codes:
   0  done; verified; the stamp is good
   1  failed
   2  wrong usage
   3  wrong configuration
   4  the port is in use
   5  the state folder is in use by another daemon
   6  the state folder is not safe
   7  the state was written by a newer version
   8  the keychain cannot be used
   9  a process uses the state folder, but does not answer as its daemon
  10  not verified; the stamp is not good
  11  inconclusive: something could not be checked; the signer of a stamp is unknown
  12  the state was written before the first release, and this version cannot read it
  13  no daemon runs (only "countersignd status")
  14  a name or the beginning of an id can mean several; the message lists them
 130  waiting was ended by Ctrl-C`

const linesOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

/** Returns the names and summaries of commands in columns. */
function listed(names: readonly string[]): string[] {
  const width = Math.max(...names.map((name) => name.length))
  return names.map((name) => `  ${name.padEnd(width)}  ${COMMANDS[name]?.summary}`)
}

const overview =
  (): string => `countersignd ${versionLine}: three spoken words that prove who is on the line

Usage: countersignd <command> [options]

Commands:
${linesOf(listed(Object.keys(COMMANDS)))}
Every command accepts --help, and --json for output that scripts can read.
The settings are environment variables that begin with SVC_.

${EXIT_CODES}
`

/** Returns the names of the commands that begin with this word or these two words. */
const groupOf = (first: string) =>
  Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `))

const groupHelp = (first: string): string =>
  `Usage: countersignd ${first} <command> [options]\n\nCommands:\n${linesOf(listed(groupOf(first)))}`

function commandHelp(name: string, { usage, help }: Command): string {
  const own = `Usage: countersignd ${name}${usage === '' ? '' : ` ${usage}`}\n\n${help.trim()}\n`
  const more = groupOf(name)
  return more.length === 0 ? own : `${own}\nCommands:\n${linesOf(listed(more))}`
}

/** Returns the group of commands that the first one or two words name; null if there is none. */
function groupIn(argv: readonly string[]): string | null {
  const names = [2, 1].map((words) => argv.slice(0, words).join(' '))
  const found = names.find((name) => !Object.hasOwn(COMMANDS, name) && groupOf(name).length > 0)
  return found ?? null
}

/** Returns a question about the command that was probably meant; empty if there is none. */
function meant([first = '', second]: readonly string[]): string {
  const names = Object.keys(COMMANDS)
  const whole = second === undefined ? null : nearestName(`${first} ${second}`, names)
  const words = [...new Set(names.flatMap((name) => name.split(' ')[0] ?? []))]
  const nearest = whole ?? nearestName(first, words)
  return didYouMean(nearest === null ? [] : [nearest])
}

/** Returns the command that the first one to three words name, and the words after it. */
function find(argv: readonly string[]): [name: string, rest: readonly string[]] {
  for (const words of [3, 2, 1]) {
    const name = argv.slice(0, words).join(' ')
    if (Object.hasOwn(COMMANDS, name)) return [name, argv.slice(words)]
  }
  const [first = ''] = argv
  if (first.startsWith('-'))
    throw new UsageError(
      `There is no command "${first}": write options after the command. "countersignd --help" lists the commands.`,
    )
  const group = groupIn(argv)
  throw new UsageError(
    group !== null
      ? `"${group}" must be followed by one of: ${groupOf(group)
          .map((name) => name.slice(group.length + 1))
          .join(', ')}.`
      : `There is no command "${first}".${meant(argv)} "countersignd --help" lists the commands.`,
  )
}

function parse(name: string, command: Command, argv: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: { ...COMMON, ...command.options },
      allowPositionals: true,
    })
    return { options: values as Invocation['options'], args: positionals }
  } catch (error) {
    // The sentences after the first one are about positional arguments that begin with a dash. No
    // command accepts such arguments.
    const [what] = (error as Error).message.split(/\.\s/)
    throw new UsageError(`${what}. "countersignd ${name} --help" shows how to use it.`)
  }
}

const takesNames = ({ takes, takesMore, options = {} }: Command): boolean =>
  (takes ?? takesMore ?? Object.values(options).find((option) => option.takes)) !== undefined

async function runCommand(
  [name, command]: readonly [string, Command],
  argv: readonly string[],
  io: Io,
  started: () => void,
) {
  const given = parse(name, command, argv)
  if (given.options['help'] === true) {
    io.stdout.write(commandHelp(name, command))
    return EXIT.ok
  }
  const [least, most] = command.args
  if (given.args.length < least || given.args.length > most)
    throw new UsageError(`Usage: countersignd ${name} ${command.usage}`)
  command.check?.(given)
  const json = given.options['json'] === true
  const config = () => readConfig(io.env, io.machine)
  const mark = newCopyMark(io, json)
  const api: Invocation['withApi'] = (work) => withApi(config(), io, work, mark.note)
  const { options, args, called } = takesNames(command)
    ? await (await import('./references.ts')).resolveNames(command, given, api)
    : { ...given, called: (id: string) => id }
  const code = await command.run({
    options,
    args,
    io,
    config,
    json,
    called,
    withApi: api,
    print: (answer, lines) =>
      void io.stdout.write(json ? `${jsonText(mark.onto(answer))}\n` : linesOf([lines].flat())),
    say: (text) => void (json || io.stderr.write(`${text}\n`)),
    started,
    pause: (ms) => setTimeout(ms),
  })
  return code ?? EXIT.ok
}

function failure(error: unknown): { code: number; text: string } {
  if (error instanceof UsageError) return { code: EXIT.usage, text: error.message }
  if (error instanceof AmbiguousNameError) return { code: EXIT.ambiguous, text: error.message }
  if (error instanceof StartError) return { code: error.exit, text: error.message }
  if (error instanceof AppError)
    return {
      code: error.code === 'keychain_locked' ? EXIT.keychain : EXIT.failed,
      text: error.message,
    }
  return { code: EXIT.failed, text: error instanceof Error ? error.message : String(error) }
}

function tellFailure(code: number, text: string, { stderr, env }: Io): number {
  const name = coloured('red', 'countersignd:', { stream: stderr, env })
  stderr.write(`${name} ${text}\n`)
  return code
}

/** Prints the version. The first line is the version, with the commit if it is known. */
function tellVersion([option, ...more]: readonly string[], io: Io): number {
  if (more.length > 0 || (option !== undefined && option !== '--json'))
    return tellFailure(EXIT.usage, '"countersignd --version" accepts only the option --json.', io)
  io.stdout.write(
    option === undefined ? `${versionLine}\n` : `${JSON.stringify(versionFacts, null, 2)}\n`,
  )
  return EXIT.ok
}

/**
 * Runs a command line.
 * @param argv the words after the program's name
 * @param started called when a server listens
 * @returns the exit code
 */
export async function run(
  argv: readonly string[],
  streams: Io,
  started: () => void = () => undefined,
): Promise<number> {
  const io = harmlessIo(streams)
  const [first] = argv
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    io.stdout.write(overview())
    return first === undefined ? EXIT.usage : EXIT.ok
  }
  if (first === '--version') {
    return tellVersion(argv.slice(1), io)
  }
  // The name of a group is not a command.
  const group = groupIn(argv)
  const after = group === null ? undefined : argv[group.split(' ').length]
  if (group !== null && (after === '--help' || after === '-h')) {
    io.stdout.write(groupHelp(group))
    return EXIT.ok
  }
  try {
    const [name, rest] = find(argv)
    const command = await (COMMANDS[name] as Listed).load()
    return await runCommand([name, command], rest, io, started)
  } catch (error) {
    const { code, text } = failure(error)
    return tellFailure(code, text, io)
  }
}
