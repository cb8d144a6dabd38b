/** Errors about the fields of a request, in terms of the options and arguments that set them. */
import { brief, inQuotes } from '../../api/name-text.ts'
import { AppError, type Issue } from '../../errors.ts'
import type { Command, Invocation } from '../command.ts'
import { span } from '../option-fields.ts'
import { shown } from '../table.ts'

type Given = Pick<Invocation, 'args' | 'options'>

/** What the user typed for a field: the name of the option or argument, and the value. */
interface Typed {
  readonly name: string
  readonly value: string
}

/** Options with values that can contain a secret. */
const UNSHOWN: readonly string[] = ['url']

/** Returns the option that set a field; null if no option did. */
function optionOf(command: Command, { options }: Given, path: string): Typed | null {
  const [field = '', index] = path.split('.')
  const found = Object.entries(command.options ?? {}).find(
    ([name, { sets = name.replaceAll('-', '_') }]) => sets === field && options[name] !== undefined,
  )
  if (found === undefined) return null
  const [name] = found
  const given = options[name] as unknown
  const one = Array.isArray(given) ? (given as unknown[])[Number(index ?? 0)] : given
  const isShown = typeof one === 'string' && !UNSHOWN.includes(name)
  return { name: `--${name}`, value: isShown ? one : '' }
}

/** Returns the argument that set a field, by the usage line; null if none did. */
function argumentOf(
  { usage, takes = [], takesMore }: Command,
  { args }: Given,
  path: string,
): Typed | null {
  const [, index] = /\.(\d+)$/.exec(path) ?? []
  const listed = index === undefined ? undefined : args[takes.length + Number(index)]
  if (takesMore !== undefined && listed !== undefined)
    return { name: inQuotes(shown(brief(listed))), value: '' }
  const words = [...usage.matchAll(/(?<![-\w])[A-Z]+(?![\w-])/g)].map(([word]) => word)
  const name = path.toUpperCase()
  const at = words.indexOf(name)
  if (at !== -1 && args[at] !== undefined) return { name, value: args[at] }
  const address = path === 'email' ? args.find((text) => text.includes('@')) : undefined
  return address === undefined ? null : { name: 'ADDRESS', value: address }
}

/** Returns what is wrong with a value, from the instruction in an issue. */
function faultOf(value: string, { path, message }: Issue): string {
  const [, kind] = /^Expected (an? .+)$/.exec(message) ?? []
  const [, choices] = /^Expected ("[^"]+"(?: or "[^"]+")+)\.$/.exec(message) ?? []
  if (value === '') return message
  const quoted = inQuotes(shown(brief(value)))
  if (kind !== undefined) return `${quoted} is not ${kind}`
  if (choices !== undefined)
    return `${quoted} is not ${choices
      .replaceAll('"', '')
      .replaceAll(' or ', ', ')
      .replace(/, (\S+)$/, ' or $1')}.`
  const [, limit] = /^Expected at (?:least|most) (\d+)\.$/.exec(message) ?? []
  const [, unit] = /_(in|minutes)$/.exec(path) ?? []
  const wanted =
    limit === undefined || unit === undefined
      ? message
      : message.replace(limit, span(Number(limit) * (unit === 'in' ? 1 : 60)))
  return wanted.startsWith('Expected ') ? `${quoted} is not valid. ${wanted}` : wanted
}

/** Returns an issue in terms of what was typed. */
function describe(command: Command, given: Given, issue: Issue): string {
  const typed = optionOf(command, given, issue.path) ?? argumentOf(command, given, issue.path)
  if (typed !== null) return `${typed.name}: ${faultOf(typed.value, issue)}`
  // An instruction without its field would not be understood; other messages are sentences.
  const isPart = issue.path !== '' && issue.message.startsWith('Expected ')
  return isPart ? `${issue.path.replaceAll('_', ' ')}: ${issue.message}` : issue.message
}

/**
 * Returns an error that names the options and arguments with wrong values; other errors unchanged.
 */
export function withOptions(error: unknown, command: Command, given: Given): unknown {
  if (!(error instanceof AppError) || error.code !== 'validation_failed') return error
  const { issues = [] } = error.details
  if (issues.length === 0) return error
  const message = issues.map((issue) => describe(command, given, issue)).join(' ')
  return new AppError('validation_failed', message, { details: error.details, cause: error })
}
