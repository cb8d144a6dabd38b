/** The texts of `--help` and `help`. All are made from the table of commands. */
import { EXIT } from '../../errors.ts'
import { versionLine } from '../../runtime/version.ts'
import { commandsBelow, incomplete, namedBy } from './command-words.ts'
import type { Command, HelpSection } from '../command.ts'
import { COMMANDS } from '../commands.ts'
import { SECTIONS, TOPICS } from './topics.ts'

/** What each exit code means. */
export const EXIT_TEXTS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'done; verified; the stamp is good',
  failed: 'failed',
  usage: 'wrong usage',
  configuration: 'wrong configuration',
  portTaken: 'the port is in use',
  stateInUse: 'the state folder is in use by another daemon',
  stateUnsafe: 'the state folder is not safe',
  stateNewer: 'the state was written by a newer version',
  keychain: 'the keychain cannot be used',
  daemonSilent: 'a process uses the state folder, but does not answer as its daemon',
  notVerified: 'not verified; the stamp is not good',
  inconclusive: 'inconclusive: something could not be checked; the signer of a stamp is unknown',
  stateOlder: 'the state was written before the first release, and this version cannot read it',
  noDaemon: 'no daemon runs ("countersignd status", "countersignd publish")',
  ambiguous: 'a name or the beginning of an id can mean several; the message lists them',
  interrupted: 'waiting was ended by Ctrl-C',
}

/** What the program does. */
export const TAGLINE = 'three spoken words that prove who is on the line'

/** What the option `--json` of every command does. */
export const JSON_OPTION = 'print output that scripts can read'

/** The last lines of the overview. */
export const OVERVIEW_END = `"countersignd help COMMAND" explains a command or a group, and "countersignd help exit-codes" the exit codes.
Every command accepts --json, to ${JSON_OPTION}. --version (-v) prints the version.
The settings begin with SVC_. They are environment variables, or lines of a file: see "countersignd config show".
`

/** The examples at the top of the overview. */
export const FIRST_EXAMPLES: NonNullable<Command['examples']> = {
  serve: 'run the daemon; it stays in this terminal',
  'guest create --label Mum': 'words for a person without an account: send her the link',
  call: 'you are called: check who it is',
  'call Mum': 'you call Mum',
  status: 'what needs you',
}

/** Returns pairs in two columns. */
function columns(pairs: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(...pairs.map(([left]) => left.length))
  return pairs.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
}

const exampleLines = (examples: NonNullable<Command['examples']>): string =>
  columns(Object.entries(examples).map(([line, what]) => [`countersignd ${line}`, `# ${what}`]))

/** Returns the summary of a command or group. */
export const summaryOf = (name: string): string | undefined =>
  COMMANDS[name]?.summary ?? TOPICS[name]

/** Returns the first words of all commands, by section. */
export function firstWords(): Map<HelpSection, readonly string[]> {
  const bySection = Map.groupBy(Object.keys(COMMANDS), (name) => COMMANDS[name]!.section)
  return new Map(
    [...bySection].map(([section, names]) => [
      section,
      [...new Set(names.map((name) => name.split(' ')[0]!))],
    ]),
  )
}

/** Returns the text of `countersignd --help`. */
function overview(): string {
  const words = firstWords()
  const width = Math.max(...[...words.values()].flat().map((word) => word.length))
  const sections = Object.entries(SECTIONS).map(([section, title]) => {
    const lines = (words.get(section as HelpSection) ?? []).map(
      (word) => `  ${word.padEnd(width)}  ${summaryOf(word)}\n`,
    )
    return `${title}:\n${lines.join('')}\n`
  })
  return `countersignd ${versionLine}: ${TAGLINE}

Usage: countersignd <command> [options]

Examples:
${exampleLines(FIRST_EXAMPLES)}
${sections.join('')}${OVERVIEW_END}`
}

const exitCodes = (): string =>
  `Exit codes:\n${Object.entries(EXIT)
    .map(
      ([name, code]) => ` ${String(code).padStart(3)}  ${EXIT_TEXTS[name as keyof typeof EXIT]}\n`,
    )
    .join('')}`

/** Returns the list of the commands below a name; empty if there are none. */
function listBelow(name: string): string {
  const names = commandsBelow(name)
  if (names.length === 0) return ''
  return `\nCommands:\n${columns(names.map((one) => [one, summaryOf(one) ?? '']))}`
}

const groupHelp = (name: string): string =>
  `Usage: countersignd ${name} <command> [options]\n\n${summaryOf(name)}.\n${listBelow(name)}`

/** Returns the text of `--help` of a command. */
function commandHelp(name: string, { usage, help, examples }: Command): string {
  const shown = examples === undefined ? '' : `\nExamples:\n${exampleLines(examples)}`
  const own = `Usage: countersignd ${name}${usage === '' ? '' : ` ${usage}`}\n\n${help.trim()}\n`
  return `${own}${shown}${listBelow(name)}`
}

/**
 * Returns the help about what these words name.
 * @throws UsageError if they name nothing
 */
export async function helpAbout(words: readonly string[]): Promise<string> {
  if (words.length === 0) return overview()
  if (words.join(' ') === 'exit-codes') return exitCodes()
  const found = namedBy(words)
  const { name, isGroup, rest } = found
  if (!isGroup) return commandHelp(name, await COMMANDS[name]!.load())
  if (rest.length > 0) throw incomplete(found)
  return groupHelp(name)
}
