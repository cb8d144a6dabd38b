/**
 * The command line: finds the command, parses its options, and runs it.
 *
 * An error is reported as one line on standard error and a documented exit code.
 */
import { setTimeout } from 'node:timers/promises'
import { AmbiguousNameError } from '../api/naming/ambiguous.ts'
import { readConfig } from '../config/config.ts'
import { AppError, EXIT, StartError } from '../errors.ts'
import { withApi } from './api.ts'
import { newCopyMark } from './as-of.ts'
import { type Command, type Invocation, type Io, type Listed, UsageError } from './command.ts'
import { plainFileFault } from './errors/file-errors.ts'
import { isJournal, withPriority } from './journal.ts'
import { coloured, harmlessIo, jsonText } from './output.ts'
import { incomplete, namedBy } from './help/command-words.ts'
import { COMMANDS } from './commands.ts'
import { parseCommand, requireComplete } from './parse.ts'
import { versionFacts, versionLine } from '../runtime/version.ts'

const linesOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

const takesNames = ({ takes, takesMore, options = {} }: Command): boolean =>
  (takes ?? takesMore ?? Object.values(options).find((option) => option.takes)) !== undefined

/**
 * Prints the help about what these words name.
 * @throws UsageError if they name nothing
 */
async function tellHelp(words: readonly string[], { stdout }: Io): Promise<number> {
  stdout.write(await (await import('./help/help.ts')).helpAbout(words))
  return EXIT.ok
}

async function runCommand(
  [name, command]: readonly [string, Command],
  argv: readonly string[],
  io: Io,
  started: () => void,
) {
  const given = parseCommand(name, command, argv)
  if (given.options['help'] === true) return tellHelp(name.split(' '), io)
  requireComplete(name, command, given)
  command.check?.(given)
  const json = given.options['json'] === true
  const config = () => readConfig(io.env, io.machine)
  const mark = newCopyMark(io, json)
  const api: Invocation['withApi'] = (work) => withApi(config(), io, work, mark.note)
  const { options, args, called } = takesNames(command)
    ? await (await import('./references.ts')).resolveNames(command, given, api)
    : { ...given, called: (id: string) => id }
  const invocation: Invocation = {
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
  }
  try {
    return (await command.run(invocation)) ?? EXIT.ok
  } catch (error) {
    throw (await import('./errors/option-errors.ts')).withOptions(error, command, given)
  }
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
  const { path, code, message } = error as NodeJS.ErrnoException
  const text = typeof path === 'string' ? plainFileFault(path, code) : null
  return { code: EXIT.failed, text: text ?? message }
}

function tellFailure(code: number, text: string, { stderr, env }: Io): number {
  const name = coloured('red', 'countersignd:', { stream: stderr, env })
  const message = `${name} ${text}\n`
  stderr.write(isJournal(env) ? withPriority('error', message) : message)
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

const isHelp = (word: string | undefined): boolean => word === '--help' || word === '-h'

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
  const [first, ...words] = argv
  if (first === '--version' || first === '-v') return tellVersion(words, io)
  try {
    if (first === undefined || isHelp(first) || first === 'help') {
      await tellHelp(
        words.filter((word) => !isHelp(word)),
        io,
      )
      return first === undefined ? EXIT.usage : EXIT.ok
    }
    const found = namedBy(argv)
    const { name, isGroup, rest } = found
    if (isGroup) {
      if (!isHelp(rest[0])) throw incomplete(found)
      return await tellHelp(name.split(' '), io)
    }
    const command = await (COMMANDS[name] as Listed).load()
    return await runCommand([name, command], rest, io, started)
  } catch (error) {
    const { code, text } = failure(error)
    return tellFailure(code, text, io)
  }
}
